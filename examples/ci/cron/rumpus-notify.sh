#!/usr/bin/env bash
# Tells how the last night was: `rumpus nightly --notify ./rumpus-notify.sh` runs it at the end.
#  RUMPUS_MAIL_TO  an address, which gets the summary by the command `mail`
#  RUMPUS_WEBHOOK  an address that takes {"text": "..."}, as those of Slack, Mattermost and
#                  Rocket.Chat do
# With neither it prints the headline, which the journal or cron's own mail then has.
set -euo pipefail
summary=runs/nights/latest/summary.md
headline=$(head -n 1 "$summary")
if [[ -n ${RUMPUS_MAIL_TO-} ]]; then
    mail -s "${headline#\# }" "$RUMPUS_MAIL_TO" <"$summary"
fi
if [[ -n ${RUMPUS_WEBHOOK-} ]]; then
    # The address may be a secret, so it is not among the arguments, which everybody can see.
    python3 -c 'import json, sys; print(json.dumps({"text": sys.stdin.read()}))' <"$summary" |
        curl --fail --silent --show-error --max-time 30 --header 'Content-Type: application/json' \
            --data-binary @- --config <(printf 'url = "%s"\n' "$RUMPUS_WEBHOOK") >/dev/null
fi
if [[ -z ${RUMPUS_MAIL_TO-}${RUMPUS_WEBHOOK-} ]]; then
    printf '%s\n' "$headline"
fi
