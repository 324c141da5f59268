import { describe, it } from 'vitest';
import { takeTour } from './tour.ts';

describe('docs/command-line.md', { timeout: 120_000 }, () => {
  it('shows a newcomer around, in an SQLite file', () => takeTour({}));
});
