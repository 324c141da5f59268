import { expect, it } from 'vitest';
import { withoutMarks, withVersionsMarked } from '../../../../src/cli/program/arguments.ts';

it.each([
  ['show /memories/a -Ab3_x-9', 'show /memories/a \0-Ab3_x-9'],
  ['redact /memories/a -Ab3 --yes --tenant acme', 'redact /memories/a \0-Ab3 --yes --tenant acme'],
  ['--json trace /memories/a -Ab3', '--json trace /memories/a \0-Ab3'],
  ['diff /memories/a -Ab3 Cd45', 'diff /memories/a \0-Ab3 Cd45'],
  ['diff /memories/a Cd45 -Ab3', 'diff /memories/a Cd45 \0-Ab3'],
  ['diff /memories/a -Ab3 --json --C_45', 'diff /memories/a \0-Ab3 --json \0--C_45'],
  ['restore /memories/a -Ab3 --dry-run', 'restore /memories/a \0-Ab3 --dry-run'],
  ['show /memories/a -- -Ab3', 'show /memories/a -- -Ab3'],
  ['show /memories/a Ab3-', 'show /memories/a Ab3-'],
  ['redact /memories/a Ab3- --yes', 'redact /memories/a Ab3- --yes'],
  ['trace /memories/a -h', 'trace /memories/a -h'],
  ['show /memories/a --bA_x9Q --json', 'show /memories/a \0--bA_x9Q --json'],
  ['redact --tenant acme --yes /memories/a Ab3-', 'redact --tenant acme --yes /memories/a Ab3-'],
  ['ls -lRfi /memories', 'ls -lRfi /memories'],
])('marks a version that begins with a dash, which is no option: %s', (given, marked) => {
  const args = withVersionsMarked(given.split(' '));
  expect(args).toEqual(marked.split(' '));
  expect(args.map(withoutMarks)).toEqual(given.split(' '));
});
