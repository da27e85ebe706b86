#!/bin/bash
# Runs a Redis server as this process, and a Sentinel beside it if the server is one of a group.
#
# REDIS_NAME: this node's host name. REDIS_PRIMARY: that of the first primary; empty if the servers
# know nothing of each other. REDIS_QUORUM: how many Sentinels must agree that a primary is down.
# REDIS_DOWN_MS: after how many milliseconds of silence they do. REDIS_APPENDONLY: yes or no.
#
# What the server executes is written to /data/monitor.log, from before its port is open: no
# client's command is missing there.
set -euo pipefail

socket=/tmp/redis.sock

# A restarted container keeps what Redis and Sentinel wrote into their configurations.
if [[ ! -e redis.conf ]]; then
    {
        cat <<CONFIGURATION
port 0
unixsocket $socket
dir /data
protected-mode no
save ""
appendonly $REDIS_APPENDONLY
appendfsync everysec
repl-diskless-sync-delay 0
repl-timeout 10
repl-ping-replica-period 1
replica-announce-ip $REDIS_NAME
replica-announce-port 6379
CONFIGURATION
        if [[ -n $REDIS_PRIMARY && $REDIS_PRIMARY != "$REDIS_NAME" ]]; then
            echo "replicaof $REDIS_PRIMARY 6379"
        fi
    } > redis.conf
    if [[ -n $REDIS_PRIMARY ]]; then
        cat > sentinel.conf <<CONFIGURATION
port 26379
dir /data
protected-mode no
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $REDIS_NAME
sentinel announce-port 26379
sentinel monitor rumpus $REDIS_PRIMARY 6379 $REDIS_QUORUM
sentinel down-after-milliseconds rumpus $REDIS_DOWN_MS
sentinel failover-timeout rumpus $((3 * REDIS_DOWN_MS))
sentinel parallel-syncs rumpus 2
CONFIGURATION
    fi
fi

# Nobody is told of a name before its node is there.
until [[ -z $REDIS_PRIMARY ]] || getent hosts "$REDIS_PRIMARY" > /dev/null; do sleep 0.05; done

(
    until redis-cli -s "$socket" ping 2> /dev/null | grep -q -e PONG -e LOADING; do sleep 0.02; done
    echo "started $(date +%s.%6N)" >> monitor.log
    # A Sentinel that changes the server's role ends all connections, this one, too.
    while true; do redis-cli -s "$socket" monitor >> monitor.log 2> /dev/null || true; done &
    until tail -n 1 monitor.log | grep -qv ^started; do sleep 0.02; done
    redis-cli -s "$socket" config set port 6379 > /dev/null
    if [[ -e sentinel.conf ]]; then exec redis-sentinel sentinel.conf; fi
) &

# Redis expires keys by the wall clock, which set-clock.sh sets. A restarted node keeps it.
[[ -e /tmp/clock ]] || printf '%-15d\n' 0 > /tmp/clock
export LD_PRELOAD=/usr/local/lib/wall-clock.so

# Redis writes its present port into its configuration when a failover changes its role.
exec redis-server redis.conf --port 0
