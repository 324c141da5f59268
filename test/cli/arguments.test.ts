import { expect, it } from 'vitest';
import { withVersionsLast } from '../../src/cli/arguments.ts';

it.each([
  ['show /memories/a -Ab3_x-9', 'show /memories/a -- -Ab3_x-9'],
  ['redact /memories/a -Ab3 --yes --tenant acme', 'redact /memories/a --yes --tenant acme -- -Ab3'],
  ['--json trace /memories/a -Ab3', '--json trace /memories/a -- -Ab3'],
  ['show /memories/a -- -Ab3', 'show /memories/a -- -Ab3'],
  ['show /memories/a Ab3-', 'show /memories/a Ab3-'],
  ['redact /memories/a Ab3- --yes', 'redact /memories/a Ab3- --yes'],
  ['trace /memories/a -h', 'trace /memories/a -h'],
  ['show /memories/a --bA_x9Q --json', 'show /memories/a --json -- --bA_x9Q'],
  ['redact --tenant acme --yes /memories/a Ab3-', 'redact --tenant acme --yes /memories/a Ab3-'],
  ['ls -lRfi /memories', 'ls -lRfi /memories'],
])('takes a version that begins with a dash for no option: %s', (given, taken) => {
  expect(withVersionsLast(given.split(' '))).toEqual(taken.split(' '));
});
