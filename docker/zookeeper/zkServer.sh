#!/bin/bash
# `zkServer.sh start-foreground`: runs the server as this process, logging to standard output.
set -euo pipefail

if [[ ${1-} != start-foreground ]]; then
    echo "usage: zkServer.sh start-foreground" >&2
    exit 2
fi

jars=/usr/share/java
# The jar of 3.4 does not name its logging API, as later ones do.
logging=$jars/slf4j-api.jar:$jars/slf4j-log4j12.jar:$jars/log4j-1.2.jar
# JVMFLAGS holds several words: unquoted on purpose.
exec java ${JVMFLAGS-} \
    -cp "$ZOO_CONF_DIR:$jars/zookeeper.jar:$logging" \
    org.apache.zookeeper.server.quorum.QuorumPeerMain "$ZOO_CONF_DIR/zoo.cfg"
