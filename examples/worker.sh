#!/bin/sh
# A worker in sh and curl: claims a job, runs a command with the data on its stdin, reports, exits.
#   MUSTER_URL=http://127.0.0.1:8080 examples/worker.sh POOL CMD [ARG...]
set -u
pool=${1:?usage: worker.sh POOL CMD [ARG...]} worker=${MUSTER_WORKER_ID:-$(uname -n)-$$}
shift
post() { # PATH, body on stdin; tried again while the service is away
  curl -sS --fail-with-body --retry 5 --retry-connrefused --data-binary @- \
    ${MUSTER_TOKEN:+-H "Authorization: Bearer $MUSTER_TOKEN"} "${MUSTER_URL:-http://127.0.0.1:8080}/v1/$1"
}
text() { # stdin as a JSON string
  printf '"%s"' "$(tr -d '\000-\010\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g; s/	/\\t/g' | awk '{printf "%s%s", s, $0; s = "\\n"}')"
}
answer=$(printf '{"worker_id":"%s"}' "$worker" | post "pools/$pool/claim") || exit 1
field() { printf '%s' "$answer" | tr -d '\n' | sed -n "s/$1/\\1/p"; }
id=$(field '^{"items":\[{"id":"\([^"]*\)".*')
[ -n "$id" ] || { echo no_work_available; exit 0; }
lease='"lease_token":"'$(field '.*"lease_token":"\([^"]*\)","attempt":.*')'"'
send() { printf '{%s%s}' "$lease" "${2-}" | post "jobs/$id/$1"; }
err=$(mktemp) && trap 'kill $beat; rm -f "$err"' EXIT
(while sleep 15 && send renew; do :; done) >/dev/null 2>&1 & beat=$!
out=$(field '[^,]*,"pool_id":"[^"]*","data":\(.*\),"status":"claimed","priority":.*' | MUSTER_JOB_ID=$id "$@" 2>"$err")
case $? in
0) send complete "${out:+,\"result\":$out}" 2>/dev/null || # its output is no JSON
    send complete ",\"result\":$(printf %s "$out" | text)" ;;
75) send fail ',"no_penalty":true,"retry_after_seconds":10' ;;
*) send fail ",\"error\":$(tail -n 20 "$err" | text)" ;;
esac >/dev/null
