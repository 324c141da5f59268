import { describe, expect, it } from 'vitest';
import { expiryLines } from '../../../../src/cli/show/operate-lines.ts';

const NOTHING = { files: 0, deleted: 0, marked: 0, records: 0, sessions: 0, busy: false, tombstones: 0 };

describe('expiryLines', () => {
  const report = {
    ...NOTHING,
    files: 7,
    deleted: 2,
    marked: 3,
    records: 4,
    sessions: 1,
    tombstones: 1,
    busy: true,
  };

  it('tell what was done, and what is left to do', () => {
    expect(expiryLines(report, { dryRun: false })).toEqual([
      'wait  a directory is being renamed, so no file was looked at — run it again',
      'to do 3 unused: a run at least an hour later deletes what is still unused',
      'ok    7 files looked at, 2 deleted',
      'ok    4 old access records, receipts, answers and conversations deleted',
      'ok    1 unused session deleted',
      'ok    1 tombstone of deletes that were cut off removed',
    ]);
  });

  it('tell of one as of one', () => {
    const one = { files: 1, deleted: 1, marked: 0, records: 1, sessions: 0, tombstones: 1, busy: false };
    expect(expiryLines({ ...report, ...one }, { dryRun: false })).toEqual([
      'ok    1 file looked at, 1 deleted',
      'ok    1 old access record, receipt, answer or conversation deleted',
      'ok    1 tombstone of deletes that were cut off removed',
    ]);
  });

  it('tell of a dry run what would be done', () => {
    const dry = { ...report, tombstones: 0, busy: false };
    expect(expiryLines(dry, { dryRun: true })).toEqual([
      'to do 3 unused: a run marks them, and one at least an hour later deletes what is still unused',
      'note  7 files looked at, 2 would be deleted',
      'note  4 old access records, receipts, answers and conversations would be deleted',
      'note  1 unused session would be deleted',
    ]);
  });
});
