import { inSimulation, type SeededBug } from './seeded-bug.ts';

/** Bugs of what becomes of files, planted around each process of a simulation. */
export const TREE_BUGS: readonly SeededBug[] = [
  {
    name: 'no If-Match on edits',
    breaks: 'protocols: Edit',
    seenBy: inSimulation('one file'),
    planted: 'seam',
  },
  {
    name: 'a blind resend after 412',
    breaks: 'protocols: Edit',
    seenBy: inSimulation('one file'),
    planted: 'seam',
  },
  {
    name: 'no undo in create clashes',
    breaks: 'protocols: Create',
    seenBy: inSimulation('clashes'),
    planted: 'seam',
  },
  {
    name: 'a file built on that may be taken back',
    breaks: 'protocols: Create',
    seenBy: inSimulation('edited clashes'),
    planted: 'seam',
  },
  {
    name: 'a delete batch resent without a new listing',
    breaks: 'protocols: Delete of a directory',
    seenBy: inSimulation('directories'),
    planted: 'seam',
  },
  {
    name: 'a plain DELETE instead of the guarded one',
    breaks: 'protocols: Two classes of stores',
    seenBy: inSimulation('one file'),
    planted: 'seam',
  },
  {
    name: 'a tombstone overwritten young',
    breaks: 'protocols: Two classes of stores',
    seenBy: inSimulation('one file', { store: 'unguarded' }),
    planted: 'seam',
  },
  {
    name: 'no lease check before a delete batch',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSimulation('moving directories'),
    planted: 'seam',
  },
  {
    name: 'the register set idle before the deletes',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSimulation('moving directories'),
    planted: 'seam',
  },
  {
    name: 'cached text trusted for an error',
    breaks: 'protocols: What a process holds',
    seenBy: inSimulation('one file'),
    planted: 'seam',
  },
  {
    name: 'stale text not revalidated',
    breaks: 'protocols: What a process holds',
    seenBy: inSimulation('one file'),
    planted: 'seam',
  },
  {
    name: 'a directory that has gone',
    breaks: 'protocols: Create',
    seenBy: inSimulation('clashes'),
    planted: 'seam',
  },
  {
    name: 'the version seen last taken for the only right one',
    breaks: 'protocols: An older version put back',
    seenBy: inSimulation('busy readers'),
    planted: 'seam',
  },
  {
    name: 'the moment of an answer taken for that of its request',
    breaks: 'protocols: An older version put back',
    seenBy: inSimulation('busy readers'),
    planted: 'seam',
  },
  // Mistakes that were made once, with the seed that met them.
  {
    name: 'a new file in a moved directory copied over the one that was moved before',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSimulation('moving directories', { store: 'guarded', seed: 19 }),
    planted: 'seam',
  },
  {
    name: 'a file created while its directory is deleted taken by a second round',
    breaks: 'protocols: Delete of a directory',
    seenBy: inSimulation('directories', { store: 'guarded', seed: 70 }),
    planted: 'seam',
  },
  {
    name: 'a batch without an answer told as one that changed nothing',
    breaks: 'protocols: Delete of a directory',
    seenBy: inSimulation('directories', { store: 'guarded', seed: 52 }),
    planted: 'seam',
  },
  {
    name: 'a resend that is refused taken for the first attempt',
    breaks: 'protocols: Ground rules',
    seenBy: inSimulation('files', { store: 'guarded', seed: 18 }),
    planted: 'seam',
  },
  {
    name: 'a create that landed told as unavailable when the look after it fails',
    breaks: 'protocols: Ground rules',
    seenBy: inSimulation('one file', { store: 'guarded', seed: 432 }),
    planted: 'seam',
  },
];
