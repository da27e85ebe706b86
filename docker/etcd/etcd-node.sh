#!/bin/bash
# Runs an etcd server as this process, and writes every change that it learns of to
# /data/events.log: the time in seconds, and the event as JSON.
set -euo pipefail

export ETCDCTL_API=3
(
    # It ends when the server cannot serve, and then begins again from the first revision.
    while true; do
        etcdctl --endpoints=http://127.0.0.1:2379 watch --prefix --rev=1 --write-out=json "" |
            while IFS= read -r event; do printf '%s %s\n' "$EPOCHREALTIME" "$event"; done \
                >> /data/events.log || true
        sleep 0.1
    done
) 2> /dev/null &

exec etcd
