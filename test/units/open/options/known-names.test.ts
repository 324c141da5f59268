import { describe, expect, it } from 'vitest';
import { adviceFor, nearestOf, refuseUnknownNames } from '../../../../src/open/options/known-names.ts';

describe('the known name that is nearest', () => {
  it.each([
    // A letter more, fewer or another one, at the beginning, in the middle and at the end; capitals count for nothing.
    ['tenat', ['store', 'tenant'], 'tenant'],
    ['xtenant', ['store', 'tenant'], 'tenant'],
    ['tenants', ['store', 'tenant'], 'tenant'],
    ['tExant', ['store', 'tenant'], 'tenant'],
    ['dryrun', ['signal', 'dryRun'], 'dryRun'],
    // The nearest of several, wherever it stands; of equally near ones the first.
    ['stores', ['store', 'storage', 'stored'], 'store'],
    ['stores', ['storage', 'stored', 'storess'], 'stored'],
    ['limits', ['timing', 'listed', 'limit'], 'limit'],
    ['mode', ['code', 'mods'], 'code'],
    // A third of its letters may differ, rounded down.
    ['ab', ['a', 'abc'], undefined],
    ['abc', ['abd'], 'abd'],
    ['abcde', ['abcxy'], undefined],
    ['abcdef', ['abcdxy'], 'abcdxy'],
    ['abcdef', ['abcxyz'], undefined],
    // Four letters at most.
    ['abcdefghijklmno', ['abcdefghijk1234'], 'abcdefghijk1234'],
    ['abcdefghijklmno', ['abcdefghij12345'], undefined],
    // All letters count that one of them has more.
    ['signal', ['sig'], undefined],
    ['', ['a'], undefined],
    ['tenant', [], undefined],
  ])('to %j among %j is %j', (name, known, nearest) => {
    expect(nearestOf(name, known)).toBe(nearest);
    expect(adviceFor(name, { known })).toBe(
      nearest === undefined ? `Known are ${known.join(', ')}.` : `Did you mean ${nearest}?`,
    );
  });

  it('is what a former name is called now, where that is known', () => {
    expect(adviceFor('profile', { known: ['wording', 'profiles'] })).toBe('It is called wording now.');
    expect(adviceFor('profile', { known: ['profiles'] })).toBe('Did you mean profiles?');
  });

  it('stands in the refusal of the first unknown name; without one, the names that are listed do', () => {
    const known = new Set(['signal', 'force', 'secret']);
    const options = { known, listed: ['signal', 'force'], what: 'an option of rotate' };
    expect(() => refuseUnknownNames([], options)).not.toThrow();
    expect(() => refuseUnknownNames(['force', 'secret'], options)).not.toThrow();
    expect(() => refuseUnknownNames(['force', 'forc', 'else'], options)).toThrow(
      expect.objectContaining({
        code: 'misconfigured',
        message: 'forc is not an option of rotate. Did you mean force?',
      }),
    );
    expect(() => refuseUnknownNames(['nothing like it'], options)).toThrow(
      'nothing like it is not an option of rotate. Known are signal, force.',
    );
  });
});
