// Claims and completes jobs that do nothing, one at a time on each of CONCURRENCY tracks, as the
// peer's own documentation has it done:
//   node peer.mjs pg-boss|graphile-worker|pg-boss-flow URL JOBS CONCURRENCY [SHAPE]
// Prints the jobs per second; of a flow with its creation.
import {PgBoss} from 'pg-boss';
import {Logger, makeWorkerUtils, run} from 'graphile-worker';

const [peer, url, jobsText, concurrencyText, shape] = process.argv.slice(2);
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

// What job i comes after: the same shapes as in rows_of_flows.cc.
function upstreamOf(i) {
  if (shape === 'fan-out') return i > 0 ? [0] : [];
  if (shape === 'chain') return i > 0 ? [i - 1] : [];
  if (shape === 'fan-in') return i === jobs - 1 ? Array.from({length: i}, (_, k) => k) : [];
  if (i < 100) return [];
  const layer = (Math.floor(i / 100) - 1) * 100;
  return Array.from({length: 10}, (_, k) => layer + (i + k) % 100);
}

// The peer tells dependents in the background, at best once a second. Here a track that finds
// nothing has it done at once, which is as fast as the peer can be.
async function pgBossFlow() {
  const boss = new PgBoss({connectionString: url, max: concurrency, supervise: false, schedule: false});
  await boss.start();
  await boss.createQueue('bench');
  const flow = Array.from({length: jobs}, (_, i) => ({
    ref: `j${i}`, name: 'bench', data, dependsOn: upstreamOf(i).map((k) => `j${k}`)}));
  let done = 0;
  let telling;
  const tell = () => telling ??= boss.resolveFlow().finally(() => { telling = undefined; });
  const began = performance.now();
  await boss.flow(flow);
  const track = async () => {
    while (done < jobs) {
      const [job] = await boss.fetch('bench');
      if (!job) {
        await tell();
        continue;
      }
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

const rate = await {'pg-boss': pgBoss, 'graphile-worker': graphileWorker, 'pg-boss-flow': pgBossFlow}[peer]();
console.log(rate.toFixed(1));
process.exit(0);
