// Claims and completes jobs that do nothing, one at a time on each of CONCURRENCY tracks, as the
// peer's own documentation has it done:  node peer.mjs pg-boss|graphile-worker URL JOBS CONCURRENCY
// Prints the jobs per second.
import {PgBoss} from 'pg-boss';
import {Logger, makeWorkerUtils, run} from 'graphile-worker';

const [peer, url, jobsText, concurrencyText] = process.argv.slice(2);
const jobs = Number(jobsText);
const concurrency = Number(concurrencyText);
const data = {page: 1, url: 'https://example.org/a/page', words: ['one', 'two', 'three']};

async function pgBoss() {
  const boss = new PgBoss({connectionString: url, max: concurrency, supervise: false, schedule: false});
  await boss.start();
  await boss.createQueue('bench');
  for (let left = jobs; left > 0; left -= 1000) {
    await boss.insert('bench', Array.from({length: Math.min(left, 1000)}, () => ({data})));
  }
  let done = 0;
  const began = performance.now();
  const track = async () => {
    for (;;) {
      const [job] = await boss.fetch('bench');
      if (!job) return;
      await boss.complete('bench', job.id);
      ++done;
    }
  };
  await Promise.all(Array.from({length: concurrency}, track));
  const seconds = (performance.now() - began) / 1000;
  await boss.stop({graceful: false});
  return done / seconds;
}

async function graphileWorker() {
  const utils = await makeWorkerUtils({connectionString: url});
  await utils.migrate();
  for (let left = jobs; left > 0; left -= 1000) {
    await utils.addJobs(
        Array.from({length: Math.min(left, 1000)}, () => ({identifier: 'bench', payload: data})));
  }
  let done = 0;
  let finished;
  const all = new Promise((resolve) => { finished = resolve; });
  const began = performance.now();
  const runner = await run({
    connectionString: url,
    concurrency,
    maxPoolSize: concurrency + 2,
    noHandleSignals: true,
    pollInterval: 100,
    logger: new Logger(() => () => {}),
    taskList: {bench: async () => { if (++done === jobs) finished(performance.now()); }},
  });
  const seconds = ((await all) - began) / 1000;
  await runner.stop();
  await utils.release();
  return done / seconds;
}

const rate = await {'pg-boss': pgBoss, 'graphile-worker': graphileWorker}[peer]();
console.log(rate.toFixed(1));
process.exit(0);
