import { SEEDED_BUGS } from '../seeded-bugs/catalogue.ts';
import { classesOf, seamOf, simulationsOf } from '../seeded-bugs/simulated-bugs.ts';
import { drawKeeping } from '../simulation/simulate.ts';
import { NAMED_THEMES } from '../simulation/workload.ts';
import { type Evidence, judgeHistories } from './judge.ts';
import type { RecordedHistory } from './recording.ts';
import { recordSimulation, type Simulated } from './simulated.ts';

/** The number of histories that are judged at a time. */
const AT_ONCE = 400;
/** The longest for one history; a rename of a directory that many commands overlap takes more than there is. */
const SECONDS = 5;
/** One history in this many may be left undecided. */
const HISTORIES_PER_UNDECIDED = 20;
/** The number of simulations that are played at a time with each bug. */
const SEEDS_AT_ONCE = 25;

/**
 * A complaint about a file above another file at the end, which the simulation's own judge alone can make: each answer
 * by itself can be true.
 */
const IN_NO_ANSWER: readonly string[] = ['a file built on that may be taken back'];

/** Has each theme's seeds judged by the simulation's own judge and by Porcupine; both must find nothing. */
export async function judgeSeeds(first: number, last: number): Promise<boolean> {
  let good = true;
  for (const { name: themeName } of NAMED_THEMES) {
    const begun = performance.now();
    const sum = { accepted: 0, rejected: 0, undecided: 0, leftOut: 0, complaints: 0, unfinished: 0 };
    for (let from = first; from <= last; from += AT_ONCE / 2) {
      const played: Simulated[] = [];
      for (let seed = from; seed <= Math.min(last, from + AT_ONCE / 2 - 1); seed++) {
        for (const storeClass of ['guarded', 'unguarded'] as const)
          played.push(
            await recordSimulation({ seed, storeClass, themeName, keeping: drawKeeping(storeClass, seed) }),
          );
      }
      const { rejected, undecided, judged } = await judgeBoth(played);
      sum.rejected += rejected;
      sum.undecided += undecided;
      sum.accepted += judged - rejected - undecided;
      sum.leftOut += played.length - judged;
      const complaints = played.flatMap(({ complaint }) => complaint ?? []);
      sum.complaints += complaints.filter((complaint) => !complaint.undecided).length;
      sum.unfinished += complaints.filter((complaint) => complaint.undecided).length;
    }
    const { accepted, rejected, undecided, leftOut, complaints, unfinished } = sum;
    const judged = accepted + rejected + undecided;
    console.log(
      `${themeName}: ${accepted} accepted, ${rejected} rejected, ${undecided} undecided, ${leftOut} with several renames of directories left out; of the simulation's own judge ${complaints} complaints, ${unfinished} undecided; in ${Math.round((performance.now() - begun) / 1000)} s`,
    );
    const isDecided = undecided <= Math.ceil(judged / HISTORIES_PER_UNDECIDED);
    good = good && rejected === 0 && complaints === 0 && isDecided;
  }
  return good;
}

async function judgeBoth(
  played: readonly Simulated[],
): Promise<{ readonly rejected: number; readonly undecided: number; readonly judged: number }> {
  const histories = played.flatMap(({ history }) => history ?? []);
  const { failures } = await judgeHistories(histories, { keep: true, seconds: SECONDS });
  const rejected = failures.filter(({ verdict }) => verdict === 'rejected');
  for (const failure of rejected) tell(failure);
  for (const { name, complaint } of played) {
    if (complaint !== undefined) console.log(`simulation ${name}: ${complaint.problem}`);
  }
  return {
    rejected: rejected.length,
    undecided: failures.length - rejected.length,
    judged: histories.length,
  };
}

function tell({ name, reason, file }: Evidence): void {
  console.log(`simulation ${name} is rejected by Porcupine: ${reason}\n  kept in ${file}`);
}

/**
 * Plays the seeds that CI runs, up to one of them, with each seeded bug of the simulation that a seam plants and an answer
 * shows. Porcupine rejects a history with every one of them, or with every third one where seeds are left out.
 */
export async function judgeSimulatedBugs(last: number): Promise<boolean> {
  const begun = performance.now();
  const bugs = SEEDED_BUGS.flatMap(({ name, planted, seenBy }) => {
    const isMeant = planted === 'seam' && !IN_NO_ANSWER.includes(name);
    if (!isMeant || seenBy.run !== 'simulation' || seenBy.history !== undefined) return [];
    const all = classesOf(seenBy).flatMap((storeClass) => [...simulationsOf(seenBy, storeClass)]);
    // A seed that met the bug once is played however few are asked for.
    const asked = all.filter(({ seed }) => seed <= last || seed === seenBy.seed);
    return [
      {
        name,
        bug: seamOf({ name }),
        seeds: asked.toSorted((one, other) => one.seed - other.seed),
        isWhole: asked.length === all.length,
      },
    ];
  });
  const hidden = new Set(bugs.map(({ name }) => name));
  for (let from = 0; from <= 2 * last; from += SEEDS_AT_ONCE) {
    const histories: RecordedHistory[] = [];
    const owners: string[] = [];
    for (const { name, seeds, bug } of bugs.filter((each) => hidden.has(each.name))) {
      for (const where of seeds.slice(from, from + SEEDS_AT_ONCE)) {
        const { history } = await recordSimulation({ ...where, bug: bug() });
        if (history === undefined) continue;
        histories.push(history);
        owners.push(name);
      }
    }
    if (histories.length === 0) continue;
    const { verdicts } = await judgeHistories(histories, { keep: false, seconds: SECONDS });
    for (const [at, { verdict }] of verdicts.entries()) {
      const owner = owners[at];
      if (verdict === 'rejected' && owner !== undefined) hidden.delete(owner);
    }
  }
  for (const name of hidden) console.log(`in no history of those: ${name}`);
  const seen = bugs.length - hidden.size;
  console.log(
    `seeded bugs of the simulation: ${seen} of ${bugs.length} rejected by Porcupine, in ${Math.round((performance.now() - begun) / 1000)} s`,
  );
  const isWhole = bugs.every((bug) => bug.isWhole);
  return isWhole ? hidden.size === 0 : seen >= bugs.length / 3;
}
