import { inSimulation, type SeededBug } from './seeded-bug.ts';

/** Bugs of what history keeps. */
export const HISTORY_BUGS: readonly SeededBug[] = [
  {
    name: 'a version saved after the PUT that replaces it',
    breaks: 'protocols: History',
    seenBy: inSimulation('one file', { history: 'kept', says: 'history: a version is missing' }),
    planted: 'seam',
  },
  {
    name: 'a version saved without create-only',
    breaks: 'protocols: History',
    seenBy: inSimulation('one file', { history: 'kept', says: 'history: a record is written over' }),
    planted: 'seam',
  },
  {
    name: 'the record of a directory written before its rename is decided',
    breaks: 'protocols: History',
    seenBy: inSimulation('contested directories', {
      history: 'kept',
      says: 'history: a rename is written down that may be taken back',
    }),
    planted: 'seam',
  },
  {
    name: 'a predecessor taken from an earlier read',
    breaks: 'history: What is kept',
    seenBy: inSimulation('one file', { history: 'kept', says: 'history: a version names another before it' }),
    planted: 'seam',
  },
  {
    name: 'an edit that keeps its id when it is judged on another base',
    breaks: 'protocols: Ground rules',
    seenBy: inSimulation('one file', { history: 'kept', says: 'history: an id does not name one version' }),
    planted: 'seam',
  },
  {
    name: 'edits of two actors merged',
    breaks: 'history: What is kept',
    seenBy: inSimulation('one file', { history: 'kept', says: 'history: a version names another writer' }),
    planted: 'seam',
  },
  {
    name: 'a delete that saves nothing',
    breaks: 'protocols: History',
    seenBy: inSimulation('one file', { history: 'kept', says: 'history: a version is missing' }),
    planted: 'seam',
  },
  {
    name: 'a delete written down before it is certain',
    breaks: 'protocols: History',
    seenBy: inSimulation('one file', {
      history: 'kept',
      says: 'history: a rename or delete is told of too often',
    }),
    planted: 'seam',
  },
];
