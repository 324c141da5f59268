import { describe, expect, it } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../../../src/errors.ts';
import { openingFailure, withRemedy } from '../../../../src/open/options/remedy.ts';

const nameOf = (option: string): string => `--${option}`;

describe('a failure to open', () => {
  it.each<[MemoryErrorCode, string]>([
    ['integrity', 'this root key sealed for this tenant; restore it from a backup.'],
    ['unsupported_format', 'use the version of sealed-memory that wrote it.'],
  ])('says what to do about %s in the same sentence, and keeps what it told', (code, remedy) => {
    const [details, cause] = [{ reason: 'any', epoch: 4 }, new Error('below')];
    const error = new MemoryError(code, 'version 1.2 is none.', { details, cause, retry: 'later' });
    const told = openingFailure(error, nameOf);
    expect(told).toMatchObject({ name: 'MemoryError', code, details, cause, retry: 'later' });
    const { message } = told as MemoryError;
    expect(message).toMatch(/^version 1\.2 is none: /);
    expect(message.endsWith(remedy)).toBe(true);
    expect(withRemedy(error)).toBe(message);
    expect(withRemedy(new MemoryError(code, 'version 1.2 is none'))).toBe(message);
  });

  it.each([
    new MemoryError('unavailable', 'The store cannot be reached: check the network.'),
    new MemoryError('misconfigured', 'set names to that', { details: { reason: 'another' } }),
    new TypeError('no MemoryError'),
    Object.assign(new Error('from elsewhere'), { code: 'integrity' }),
    undefined,
  ])('stays as it is where it says that itself: %s', (error) => {
    expect(openingFailure(error, nameOf)).toBe(error);
    if (error instanceof MemoryError) expect(withRemedy(error)).toBe(error.message);
  });

  it('names the setting of the names as it was typed', () => {
    const details = { reason: 'name_mode' };
    const error = new MemoryError('misconfigured', 'They are plain: set names to that.', { details });
    expect(openingFailure(error, nameOf)).toMatchObject({
      code: 'misconfigured',
      message: 'They are plain: set --names to that.',
      details,
    });
  });
});
