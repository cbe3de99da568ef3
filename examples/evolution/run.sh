#!/usr/bin/env bash
# A topic from version 1 of its schema to version 2, while writers of both go on. Starts a hub of its own and stops it again.
#
#   examples/evolution/run.sh               with target/release/prom, target/debug/prom or the prom on the path
#   PROM=/opt/prom examples/evolution/run.sh
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ -n ${PROM:-} && ! ( -f $PROM && -x $PROM ) ]]; then
  echo "PROM names $PROM, which is no program: name the binary, such as PROM=/opt/prom, or leave it out" >&2
  exit 2
fi
built=("$here/../../target/release/prom" "$here/../../target/debug/prom" "$(command -v prom || true)")
for candidate in "${PROM:-}" "${built[@]}"; do
  if [[ -f $candidate && -x $candidate ]]; then prom=$(realpath "$candidate"); break; fi
done
if [[ -z ${prom:-} ]]; then
  echo "there is no prom: build it with \`cargo build --release -p prom-cli\`, or name it with PROM=/path/to/prom" >&2
  exit 2
fi

work=$(mktemp -d)
hub=
stop() {
  if [[ -n $hub ]]; then kill "$hub" 2>/dev/null || true; wait "$hub" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap stop EXIT

# Shows a command, then runs it.
run() {
  printf '\n$ prom %s\n' "$(printf '%s' "${*@Q}" | sed -E "s/'([A-Za-z0-9.:_\/-]+)'/\1/g")"
  "$prom" "$@"
}

# The same for a command that has to fail, with this exit code.
fails() {
  local expected=$1 code=0
  shift
  run "$@" 2>&1 || code=$?
  if [[ $code != "$expected" ]]; then
    echo "that ended with $code and not with $expected" >&2
    exit 1
  fi
}

say() { printf '\n# %s\n' "$*"; }

# Port 0 is a free port. The hub says which once it is ready.
"$prom" serve --listen 127.0.0.1:0 --data "$work/data" >"$work/hub.out" 2>&1 &
hub=$!
until PROM_URL=$(grep -om1 'http://127.0.0.1:[0-9]*' "$work/hub.out"); do
  if ! kill -0 "$hub" 2>/dev/null; then cat "$work/hub.out" >&2; exit 1; fi
  sleep 0.05
done
export PROM_URL
cd "$here"
v1=schemas/heartbeat.received/v1.json
v2=schemas/heartbeat.received/v2.json
step=schemas/heartbeat.received/v1-to-v2.jq

say "The folder is in order: no hub is needed to know that."
run schema check schemas --local

say "Version 1 is registered, and published to."
run schema register heartbeat.received "$v1"
run schema register process.state schemas/process.state/v1.json
run pub heartbeat.received '{"pid":7,"name":"web","host":"a","cpu_pct":1.5,"mem_mb":12}'
run pub heartbeat.received '{"pid":8,"name":"db","host":"b","cpu_pct":20,"mem_mb":900}'

say "What does not fit is refused, with the place and the rule."
fails 4 pub heartbeat.received '{"pid":"seven","name":"web","host":"a","cpu_pct":1.5,"mem_mb":12}'

say "Version 2 renames mem_mb to mem_mib. Alone it breaks readers of what is stored."
fails 1 schema register heartbeat.received "$v2"

say "With an upcaster it is registered."
run schema register heartbeat.received "$v2" --upcast "$step"
run schema show heartbeat.received

say "Writers of version 1 go on, and writers of version 2 begin."
run pub heartbeat.received '{"pid":7,"name":"web","host":"a","cpu_pct":2,"mem_mb":13}'
run pub heartbeat.received '{"pid":9,"name":"cache","host":"a","cpu_pct":0.5,"mem_mib":64}' --header x-schema-version=2

say "As stored: each event with the version that it was written under."
run sub heartbeat.received --from earliest --count 4 --jq '[.headers["x-schema-version"], .payload.mem_mb, .payload.mem_mib]'

say "Normalised: a reader of version 2 sees one form."
run sub heartbeat.received --from earliest --count 4 --normalize --jq '[.headers["x-upcasted-from"], .payload.mem_mb, .payload.mem_mib]'

say "Types for programs come from the same registry."
run codegen ts --topic heartbeat.received --out "$work/topics.ts"
grep -A8 '^export interface HeartbeatReceivedV2' "$work/topics.ts"

say "Done."
