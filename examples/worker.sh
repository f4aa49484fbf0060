#!/bin/sh
# A worker in sh and curl: registers, claims a job, runs a command with the data on its stdin, reports, exits.
#   MUSTER_URL=http://127.0.0.1:8080 examples/worker.sh POOL CMD [ARG...]
# SIGTERM stops the command and gives the job back; so it is when the service has written the worker off.
set -u
pool=${1:?usage: worker.sh POOL CMD [ARG...]} token=${MUSTER_WORKER_TOKEN:-${MUSTER_TOKEN-}} me=$(uname -n) cmd='' beat='' stopped=''
shift
call() { # METHOD PATH, body on stdin; tried again while the service is away
  curl -sS --fail-with-body --retry 5 --retry-connrefused -X "$1" --data-binary @- \
    ${token:+-H "Authorization: Bearer $token"} ${MUSTER_CA:+--cacert "$MUSTER_CA"} "${MUSTER_URL:-http://127.0.0.1:8080}/v1/$2"
}
field() { printf '%s' "$answer" | tr -d '\n' | sed -n "s/$1/\\1/p"; }
text() { # stdin as a JSON string
  printf '"%s"' "$(tr -d '\000-\010\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g; s/	/\\t/g' | awk '{printf "%s%s", s, $0; s = "\\n"}')"
}
answer=$(printf '{"worker_id":"%s","pool_id":"%s","host":"%s","pid":%d%s}' "${MUSTER_WORKER_ID:-$me-$$}" "$pool" "$me" $$ \
  "${MUSTER_LAUNCH_TOKEN:+,\"launch_token\":\"$MUSTER_LAUNCH_TOKEN\"}" | call POST workers) || exit 1
worker=$(field '^{"worker_id":"\([^"]*\)".*') token=$(field '.*"worker_token":"\([^"]*\)".*')
dir=$(mktemp -d)
trap 'kill $beat 2>/dev/null; rm -rf "$dir"; echo "{\"status\":\"terminated\"}" | call PATCH "workers/$worker" >/dev/null' EXIT
trap 'stopped=1; kill $cmd 2>/dev/null' TERM INT
# Three heartbeats in the time of a lease; when they are refused, this worker is to stop.
lease=$(field '.*"lease_seconds":\([0-9]*\).*')
(while sleep $((lease / 3 + (lease < 3))) && echo '{}' | call POST "workers/$worker/heartbeat"; do :; done; kill $$) >/dev/null 2>&1 & beat=$!
answer=$(printf '{"worker_id":"%s"}' "$worker" | call POST "pools/$pool/claim") || exit 1
id=$(field '^{"items":\[{"id":"\([^"]*\)".*')
[ -n "$id" ] || { echo no_work_available; exit 0; }
lease='"lease_token":"'$(field '.*"lease_token":"\([^"]*\)","attempt":.*')'"'
send() { printf '{%s%s}' "$lease" "${2-}" | call POST "jobs/$id/$1"; }
field '[^,]*,"pool_id":"[^"]*","data":\(.*\),"status":"claimed","priority":.*' | MUSTER_JOB_ID=$id "$@" >"$dir/out" 2>"$dir/err" & cmd=$!
[ -z "$stopped" ] || kill $cmd
wait $cmd
case ${stopped:+stop}$? in
stop*) wait $cmd; send release ;;
0) out=$(cat "$dir/out")
  send complete "${out:+,\"result\":$out}" 2>/dev/null || # its output is no JSON
    send complete ",\"result\":$(printf %s "$out" | text)" ;;
75) send fail ',"no_penalty":true,"retry_after_seconds":10' ;;
*) send fail ",\"error\":$(tail -n 20 "$dir/err" | text)" ;;
esac >/dev/null
