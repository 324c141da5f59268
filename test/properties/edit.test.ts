import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { insertAfterLine, replaceOnce } from '../../src/language/edit.ts';

const text = fc
  .array(fc.constantFrom('a', 'b', '$&', '\\', 'é', '😀', '\ufeff', '\n', '\r\n', '\n', ' '), {
    maxLength: 30,
  })
  .map((pieces) => pieces.join(''));

function realLines(content: string): number {
  return content.split('\n').length - (content === '' || content.endsWith('\n') ? 1 : 0);
}

describe('insertAfterLine', () => {
  it('is undone by taking the inserted lines out again', () => {
    fc.assert(
      fc.property(text, text, fc.nat({ max: 30 }), (before, inserted, seed) => {
        const line = seed % (realLines(before) + 1);
        const lines = insertAfterLine(before, line, inserted).split('\n');
        const count = inserted.replace(/\r?\n$/, '').split('\n').length;
        const body = lines.splice(line, count);
        // Behind a last line without a newline, its line ending came with the inserted lines.
        const unterminated = line === realLines(before) && before !== '' && !before.endsWith('\n');
        const after = lines.join('\n');
        expect(unterminated ? after.replace(/\r$/, '') : after).toBe(
          unterminated ? before.replace(/\r$/, '') : before,
        );
        expect(body.join('\n').replaceAll('\r', '')).toBe(
          inserted.replace(/\r?\n$/, '').replaceAll('\r', ''),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it('leaves a final newline, or its absence, as it was, and ends an empty file with one', () => {
    fc.assert(
      fc.property(text, fc.stringMatching(/^[a-z]{1,5}$/), fc.nat({ max: 30 }), (before, inserted, seed) => {
        const after = insertAfterLine(before, seed % (realLines(before) + 1), inserted);
        expect(after.endsWith('\n')).toBe(before === '' || before.endsWith('\n'));
        expect(realLines(after)).toBe(realLines(before) + 1);
      }),
      { numRuns: 1_000 },
    );
  });

  it('keeps to the one line ending a file has', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{0,4}$/), { minLength: 2, maxLength: 8 }),
        fc.constantFrom('\n', '\r\n'),
        fc.array(fc.stringMatching(/^[a-z]{1,4}$/), { minLength: 1, maxLength: 4 }),
        fc.constantFrom('\n', '\r\n'),
        fc.nat(),
        (lines, ending, inserted, other, seed) => {
          const before = lines.join(ending);
          const line = seed % (realLines(before) + 1);
          const after = insertAfterLine(before, line, inserted.join(other));
          const expected = before.split(ending);
          expected.splice(line, 0, ...inserted);
          expect(after).toBe(expected.join(ending));
        },
      ),
    );
  });

  it('refuses every line outside the range and no line inside', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: -3, max: 40 }), (before, line) => {
        const last = realLines(before) + (before.endsWith('\n') ? 1 : 0);
        const insert = () => insertAfterLine(before, line, 'x');
        if (line >= 0 && line <= last) expect(insert).not.toThrow();
        else expect(insert).toThrow(expect.objectContaining({ details: { lines: realLines(before) } }));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('replaceOnce', () => {
  it('is undone by the inverse replacement', () => {
    fc.assert(
      fc.property(text, text, text, (start, end, replaced) => {
        const [oldStr, newStr] = [`<${replaced}>`, `{${replaced}$&}`];
        const before = start + oldStr + end;
        const { text: after } = replaceOnce(before, oldStr, newStr);
        expect(after).toBe(start + newStr + end);
        expect(replaceOnce(after, newStr, oldStr).text).toBe(before);
      }),
    );
  });

  it('agrees with splitting the text at the occurrences', () => {
    fc.assert(
      fc.property(text, text, text, (content, oldStr, newStr) => {
        if (oldStr === '') return;
        const parts = content.split(oldStr);
        const replace = () => replaceOnce(content, oldStr, newStr);
        if (parts.length === 1) expect(replace).toThrow(expect.objectContaining({ code: 'no_match' }));
        else if (parts.length > 2) {
          const starts = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join(oldStr));
          const lines = [...new Set(starts.map((start) => start.split('\n').length))];
          expect(replace).toThrow(expect.objectContaining({ code: 'ambiguous_match', details: { lines } }));
        } else expect(replace().text).toBe(parts.join(newStr));
      }),
      { numRuns: 2_000 },
    );
  });
});
