#!/bin/sh
# Counts the words of all files in a folder: one job finds the files, one counts each of them, one adds up.
#   MUSTER_URL=http://127.0.0.1:8080 examples/map_reduce.sh FOLDER
# The script makes the flow, and is the command of its workers too: MUSTER_JOB_NAME tells which job they have.
set -eu
case ${MUSTER_JOB_NAME-} in
'')
  folder=${1:?usage: map_reduce.sh FOLDER} workers=''
  trap 'kill $workers; wait' EXIT
  for _ in one two; do muster worker --pool words --loop --idle-timeout-seconds 0 -- "$0" 2>/dev/null & workers="$workers $!"; done
  flow=$(printf '{"name": "words", "jobs": [{"name": "split", "pool_id": "words", "data": "%s"},
    {"name": "sum", "pool_id": "words", "data": null, "after": ["split"]}]}' "$folder" | muster flows create --wait -f -)
  muster flows show "$flow"
  muster flows jobs "$flow" -o json | sed -n '/"name":"sum"/s/.*"result":\([0-9]*\).*/\1 words/p' ;;
split) # its data is the folder; a child for each file, named after the file: a second try adds nothing
  for file in "$(tr -d '"')"/*; do muster flows add --pool words --data "\"$file\""; done ;;
sum) # waits for `split` and so for its children; MUSTER_UPSTREAM has a line for each of them
  sed -n 's/.*"parent":"split".*"result":\([0-9]*\).*/\1/p' "$MUSTER_UPSTREAM" | awk '{ sum += $1 } END { print sum + 0 }' ;;
*) # a child: its data is a file
  wc -w <"$(tr -d '"')" ;;
esac
