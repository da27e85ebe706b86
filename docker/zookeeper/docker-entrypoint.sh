#!/bin/bash
# Writes a server's configuration from the environment, then runs the command.
#
# The variables are those of the official `zookeeper` image (ZOO_MY_ID, ZOO_SERVERS, ZOO_TICK_TIME,
# ...), so that both can be started in the same way.
set -euo pipefail

if [[ ${1-} == zkServer.sh && $(id -u) == 0 ]]; then
    chown -R zookeeper: "$ZOO_CONF_DIR" "$ZOO_DATA_DIR" "$ZOO_DATA_LOG_DIR" "$ZOO_LOG_DIR"
    exec setpriv --reuid=zookeeper --regid=zookeeper --init-groups -- "$0" "$@"
fi

# Before 3.5 the client's port stood by itself, not at the end of a server's line. Nothing else
# differs: what 3.4 does not know in zoo.cfg it takes for a system property.
servers=${ZOO_SERVERS:-server.1=localhost:2888:3888;2181}
if [[ $ZOO_VERSION == 3.4.* && $servers =~ \;([0-9]+) ]]; then
    port=${BASH_REMATCH[1]}
    servers="clientPort=$port ${servers//;$port/}"
fi

# A restarted container keeps what it was given first.
if [[ ! -e $ZOO_CONF_DIR/zoo.cfg ]]; then
    {
        cat <<CONFIGURATION
dataDir=$ZOO_DATA_DIR
dataLogDir=$ZOO_DATA_LOG_DIR
tickTime=$ZOO_TICK_TIME
initLimit=$ZOO_INIT_LIMIT
syncLimit=$ZOO_SYNC_LIMIT
autopurge.snapRetainCount=$ZOO_AUTOPURGE_SNAPRETAINCOUNT
autopurge.purgeInterval=$ZOO_AUTOPURGE_PURGEINTERVAL
maxClientCnxns=$ZOO_MAX_CLIENT_CNXNS
standaloneEnabled=$ZOO_STANDALONE_ENABLED
admin.enableServer=$ZOO_ADMINSERVER_ENABLED
CONFIGURATION
        # Both lists are separated by blanks: unquoted on purpose.
        printf '%s\n' $servers
        [[ -z ${ZOO_4LW_COMMANDS_WHITELIST-} ]] ||
            echo "4lw.commands.whitelist=$ZOO_4LW_COMMANDS_WHITELIST"
        [[ -z ${ZOO_CFG_EXTRA-} ]] || printf '%s\n' $ZOO_CFG_EXTRA
    } > "$ZOO_CONF_DIR/zoo.cfg"
fi

[[ -e $ZOO_DATA_DIR/myid ]] || echo "${ZOO_MY_ID:-1}" > "$ZOO_DATA_DIR/myid"

exec "$@"
