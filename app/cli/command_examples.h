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
Tokens, templates and pools stand in the file only.

Examples:
  muster serve --store sqlite:data/muster.db
  muster serve --config muster.yml --listen 127.0.0.1:0 --durability normal)";

constexpr const char* kMigrateFooter = R"(Examples:
  muster migrate --dry-run
  muster migrate --store sqlite:/var/lib/muster/muster.db)";

constexpr const char* kPushFooter = R"(Prints the id of the job; with --wait its result.

Examples:
  muster push emails --data '{"to":"ada"}' --priority 5 --wait 30
  seq 1 5000 | muster push numbers --lines)";

constexpr const char* kJobsFooter = R"(Examples:
  muster jobs list emails --status poisoned
  muster jobs retry $(muster jobs list emails --status poisoned -o json | jq -r '.items[].id'))";

constexpr const char* kPoolsFooter = R"(Examples:
  muster pools set emails max_workers=4 retry.max_retries=5 worker_mode=loop
  muster pools stats emails -o json)";

constexpr const char* kWorkersFooter = R"(Examples:
  muster workers list --pool emails --status active
  muster workers show host1-4711)";

constexpr const char* kWorkerFooter =
    R"(Claims jobs of the pool and runs CMD once for each, without a shell. The job's data is JSON on
its stdin; its stdout becomes the result: JSON if it is JSON, else a string.

  exit 0      the job is done              exit 75   try again later, at no cost to the job
  other exit  the try failed: the last lines of stderr are its error, and it is tried again

CMD finds MUSTER_JOB_ID, MUSTER_ATTEMPT, MUSTER_EFFECT_KEY (the same in every try), MUSTER_POOL_ID,
MUSTER_WORKER_ID, MUSTER_URL, MUSTER_LEASE_TOKEN and MUSTER_WORKER_TOKEN in its environment.

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

constexpr const char* kEventsFooter = R"(Examples:
  muster events -f --types job.completed,job.poisoned
  muster events --pool emails --after 1200 -o json)";

constexpr const char* kHealthFooter = R"(Examples:
  muster health && echo ready
  muster health --url http://jobs.example.org:8080)";

constexpr const char* kVersionFooter = R"(Examples:
  muster version
  muster version -o json)";

constexpr const char* kTokenFooter =
    R"(Prints a new token and the hash to put into muster.yml. The token is not kept anywhere.

Examples:
  muster token --name ci --scopes read,produce
  muster token -o json)";

}  // namespace muster
