#pragma once

namespace muster {

// What stands below the options in the help of each command.

constexpr const char* kRootFooter = R"(Examples:
  muster serve                                   start the service on 127.0.0.1:8080
  muster push emails --data '{"to":"ada"}'       push a job into the pool "emails"
  muster worker --pool emails -- ./send          run a command for a job of it
  muster jobs list emails                        see what became of it

Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 the service said no,
2 the command makes no sense, 3 the service cannot be reached.
`muster COMMAND --help` shows options and examples of a command.)";

constexpr const char* kServeFooter =
    R"(Each setting can also stand in muster.yml (max_retries: 5) or in the environment
(MUSTER_MAX_RETRIES=5). A flag beats the environment, which beats the file.
Tokens, TLS clients, templates and pools stand in the file only.

Examples:
  muster serve --store sqlite:data/muster.db
  muster serve --config muster.yml --listen 127.0.0.1:0 --durability normal)";

constexpr const char* kMigrateFooter = R"(Examples:
  muster migrate --dry-run
  muster migrate --store sqlite:/var/lib/muster/muster.db)";

constexpr const char* kCopyFooter =
    R"(Stop the service first. Everything is copied in one transaction and read back to compare;
ids and tokens stay the same. The source is not changed.

Examples:
  muster copy --from sqlite:data/muster.db --to postgresql://db.example.org/muster)";

constexpr const char* kDoctorFooter =
    R"(Looks, and changes nothing; the service may run meanwhile. Run it as the service's user, in its
working directory. Exit 0: nothing failed, 1: something did, 2: the settings do not load.

Examples:
  muster doctor --config /etc/muster/muster.yml
  muster doctor --store postgresql://muster@db/muster -o json | jq '.checks[] | select(.hint != "")')";

constexpr const char* kPushFooter = R"(Prints the id of the job; with --wait its result.

Examples:
  muster push emails --data '{"to":"ada"}' --priority 5 --wait 30
  muster push emails --data '{"delay_seconds":1}' --count 10
  seq 1 5000 | muster push numbers --lines)";

constexpr const char* kJobsFooter = R"(Examples:
  muster jobs list emails --status poisoned
  muster jobs retry $(muster jobs list emails --status poisoned -o json | jq -r '.items[].id'))";

constexpr const char* kFlowsFooter =
    R"(A flow is a set of jobs that wait for each other. `create` prints its id; the file is the body of
POST /v1/flows. `add` in the command of a job adds a child: whoever waits for the job waits for its
children too. The same name again is the same job, so a fan-out may be repeated.

Examples:
  muster flows create -f flow.json --wait          exit 1 unless it succeeded
  muster flows show 01m7hbcqnh2944rpwva7t2y5mf     its jobs as a tree
  muster flows add left --pool cpu --data '{"half":1}' --after fetch --flow 01m7hbcqnh2944rpwva7t2y5mf
  muster flows add --pool cpu --data '{"part":7}'  in a job: a child of it
  muster flows retry 01m7hbcqnh2944rpwva7t2y5mf    run again what failed)";

constexpr const char* kArtifactsFooter =
    R"(What a command leaves in MUSTER_OUTPUT_DIR is handed back by itself when it has done well. `put`
hands back a file while the command runs; `get` writes a file beside, FILE.part, until it is whole.

Examples:
  muster artifacts list 01m7hbcqnh2944rpwva7t2y5mf
  muster artifacts get 01m7hbcqnh2944rpwva7t2y5mf/data.json | jq .
  muster artifacts get models/small model.bin    a resource, by its id
  muster artifacts put pages ./pages             in a job: a folder, as a tar
  muster artifacts put model m.bin --on-host     in a job: stays on this host)";

constexpr const char* kResourcesFooter =
    R"(A resource is kept while a job needs it, while it is leased, and for its ttl after its last use.
In the command of a job a lease ends with the try.

Examples:
  muster resources list --scope flow:01m7hbcqnh2944rpwva7t2y5mf
  lease=$(muster resources lease models/small --ttl-seconds 600)
  muster resources release models/small "$lease"
  muster resources delete runs/7/video
  muster resources keep model.bin --id models/base   stays on this host, in its folder
  muster resources gc                                deletes there what nobody needs)";

constexpr const char* kPoolsFooter = R"(Examples:
  muster pools set emails max_workers=4 retry.max_retries=5 worker_mode=loop
  muster pools set emails max_workers= template=         the defaults again
  muster pools set emails circuit.failures=5             stop when five in a row fail alike
  muster pools resume emails                             and go on, although they did
  muster pools retry emails --error-class 'HTTP # from #' --failed-after 2026-01-15T00:00:00Z
  muster pools purge emails --status done --older-than 3600
  muster pools stats emails -o json)";

constexpr const char* kWorkersFooter = R"(Examples:
  muster workers list --pool emails --status active
  muster workers show host1-4711
  muster workers output w-01m7hbcqnh2944rpwva7t2y5mf | tail -n 20
  muster workers stop w-01m7hbcqnh2944rpwva7t2y5mf)";

constexpr const char* kCheckFooter =
    R"(Looks at the pool's queue and workers and launches those that are missing, within its limits;
then says why so many. That happens by itself when jobs come and workers go: this is the same check,
by hand or from cron. Without --pool: every pool that has a template.

Examples:
  muster check --pool emails                     launch what is needed
  muster check --pool emails --explain           why is nothing launched? changes nothing
  muster check --pool emails --max-workers 3     at most 3 workers, for this once
  muster check -o json | jq '.items[] | {pool_id, launched, binding_limit}')";

constexpr const char* kReapFooter =
    R"(Workers that sent no heartbeat for the pool's stale_threshold_seconds become lost, and their jobs
go back to the pool. That happens by itself; prints the ids of the workers.

Examples:
  muster reap --dry-run                          whom would it take?
  muster reap --pool emails
  muster reap --stale-threshold-seconds 5        all that were silent for longer than 5 s)";

constexpr const char* kScaleFooter =
    R"(With --target-workers the pool keeps that many workers: missing ones are launched, surplus ones
finish their job and end. `muster pools set POOL scaling.mode=queue` goes back to what the queue needs.

Examples:
  muster scale --pool emails
  muster scale --pool emails --target-workers 4)";

constexpr const char* kExplainFooter =
    R"(Nothing is changed, and no pool is needed. Figures of adaptive mode: current_workers, queue_depth,
p95_latency_ms and in_flight_jobs (all four), last_scale_age_ms; settings: preset, or single ones like
max_workers, target_queue_depth, scale_up_step. With mode=queue: runnable, busy, idle, starting, …

Examples:
  muster explain current_workers=5 queue_depth=100 p95_latency_ms=3000 in_flight_jobs=5
  muster explain current_workers=5 queue_depth=100 p95_latency_ms=300 in_flight_jobs=5 preset=low-latency
  muster explain mode=queue runnable=10 busy=3 max_workers=5)";

constexpr const char* kDecisionsFooter =
    R"(The newest first. A decision that says the same as the one
before it is not kept.

Examples:
  muster decisions --pool emails
  muster decisions --pool emails --limit 200 -o json | jq '.items[] | select(.launched > 0)')";

constexpr const char* kTimelineFooter =
    R"(The queue is shown at its longest, workers as they were last counted; the rest is what happened
between one line and the next.

Examples:
  muster timeline emails
  muster timeline emails --from 2026-01-15T00:00:00Z --buckets 96
  muster timeline emails -o json | jq '.items[] | {at, wait_p95_ms}')";

constexpr const char* kSimulateFooter =
    R"(Replays the pool's recorded jobs, with their run times and the boot times of its workers, as if
the pool had these settings, and shows that beside what really happened. Nothing is changed. Settings
that are not named are the pool's own; --compare adds a column for another policy.

Examples:
  muster simulate emails max_workers=4
  muster simulate emails worker_mode=loop --compare 'mode=adaptive preset=low-latency'
  muster simulate emails max_workers=20 --from 2026-03-01T08:00:00Z --to 2026-03-01T18:00:00Z
  muster simulate emails warm_idle=2 -o json | jq '.items[0].simulated.p95_wait_ms')";

constexpr const char* kWorkerFooter =
    R"(Claims jobs of the pool and runs CMD once for each, without a shell. The job's data is JSON on
its stdin; its stdout becomes the result: JSON if it is JSON, else a string.

  exit 0      the job is done              exit 75   try again later, at no cost to the job
  other exit  the try failed: the last lines of stderr are its error, and it is tried again

CMD finds MUSTER_JOB_ID, MUSTER_ATTEMPT, MUSTER_EFFECT_KEY (the same in every try), MUSTER_POOL_ID,
MUSTER_WORKER_ID, MUSTER_URL, MUSTER_LEASE_TOKEN and MUSTER_WORKER_TOKEN in its environment. In a
flow also MUSTER_FLOW_ID, MUSTER_JOB_NAME and, if it waited for other jobs, MUSTER_UPSTREAM: a file
with a line of JSON for each of them.

SIGTERM or SIGINT: no further job; the one in hand may finish within --shutdown-timeout-seconds.
The second one stops the command and gives the job back. Without a job at all, the word
no_work_available is printed and the exit code is 0.

Examples:
  muster worker --pool emails -- python3 send.py          one job, then exit: for cron
  muster worker --pool emails --loop -- ./send            until 30 s passed without a job
  muster worker --pool train --loop --idle-timeout-seconds 0 --capability gpu -- ./train
  muster worker --pool demo --builtin echo                the data is the result)";

constexpr const char* kTriggersFooter = R"(Examples:
  muster triggers
  muster triggers fire check_on_work_added --pool emails)";

constexpr const char* kWebhooksFooter = R"(Examples:
  muster webhooks
  muster webhooks add https://hooks.example.org/muster --types job.completed,job.poisoned
  muster webhooks test 01kq2zm8v3n7c0d4a1b9x5e2f8
  muster webhooks deliveries 01kq2zm8v3n7c0d4a1b9x5e2f8 --status failed)";

constexpr const char* kClusterFooter = R"(Examples:
  muster cluster
  muster cluster resign)";

constexpr const char* kEventsFooter =
    R"(The latest ones, in order; with --after those that follow it.

Examples:
  muster events --job 01m7hbcqnh2944rpwva7t2y5mf
  muster events -f --types job.completed,job.poisoned
  muster events --pool emails --after 1200 -o json)";

constexpr const char* kTopFooter =
    R"(Fills the screen with pools and live workers, until q or Ctrl-C. START, BUSY, IDLE and END count
the pool's workers by what they are doing, MAX is the pool's limit; OLDEST is how long the oldest
pending job waits; LAUNCHES is ok, paused, circuit open, circuit probing, backing_off, suspended or
no template.

Examples:
  muster top
  muster top --pool emails --interval-seconds 0.5
  watch -n 10 muster top --once)";

constexpr const char* kDemoFooter =
    R"(Makes a pool of its own on a running service, with real workers, and tells what it does, what
should happen and what did: ten jobs done by three workers at a time, a worker killed in mid-job, a
silent worker reaped, a job poisoned, the checker's decisions, and jobs that wait for jobs. Takes about
ten seconds; the exit code is 1 when something was not as expected. The killing needs the service's
host and user.

Examples:
  muster serve --store memory: & sleep 1; muster demo
  muster demo --keep                    then: muster events --pool demo-…
  muster demo --url http://127.0.0.1:9000 -o json | jq .ok)";

constexpr const char* kHealthFooter = R"(Examples:
  muster health && echo ready
  muster health --url http://jobs.example.org:8080)";

constexpr const char* kVersionFooter = R"(Examples:
  muster version
  muster version -o json)";

constexpr const char* kTokenFooter =
    R"(Prints a new token and the hash to put into muster.yml. The token is not kept anywhere.

list, check and rotate-workers ask the service that MUSTER_URL names.

Examples:
  muster token --name ci --scopes read,produce
  muster token --name mailer --scopes produce:emails,read:emails
  muster token list
  muster token check)";

constexpr const char* kAuditFooter = R"(Changes with tokens of the configuration, the newest first.

Examples:
  muster audit
  muster audit --by ci -o json)";

}  // namespace muster
