/** The forms in which a text could show itself in stored bytes, each with a name for a failing test. */
function formsOf(text: string): ReadonlyMap<string, Buffer> {
  const utf8 = Buffer.from(text);
  const utf16 = Buffer.from(text, 'utf16le');
  const forms = new Map<string, Buffer>([
    ['utf8', utf8],
    ['utf16le', utf16],
    ['utf16be', Buffer.from(utf16).swap16()],
    ['hex', Buffer.from(utf8.toString('hex'))],
    ['HEX', Buffer.from(utf8.toString('hex').toUpperCase())],
    ['reversed', Buffer.from(utf8).reverse()],
    ['percent-encoded', Buffer.from(encodeURIComponent(text))],
    ['JSON', Buffer.from(JSON.stringify(text).slice(1, -1))],
  ]);
  for (const shift of [0, 1, 2]) {
    // Whole groups of three bytes only: the characters at the ends depend on the neighbours.
    const start = (3 - shift) % 3;
    const groups = utf8.subarray(start, start + Math.floor((utf8.length - start) / 3) * 3);
    forms.set(`base64 at ${shift}`, Buffer.from(groups.toString('base64')));
    forms.set(`base64url at ${shift}`, Buffer.from(groups.toString('base64url')));
  }
  return forms;
}

/** Where any of the texts shows in `haystack`, in whatever form: `<text> as <form>`. Texts have 8 bytes or more. */
export function findTraces(haystack: Uint8Array | string, texts: readonly string[]): readonly string[] {
  const bytes = Buffer.from(haystack as Uint8Array);
  return texts.flatMap((text) => {
    if (Buffer.byteLength(text) < 8) throw new Error('a text that short shows up by chance');
    return [...formsOf(text)]
      .filter(([, form]) => bytes.includes(form))
      .map(([form]) => `${text} as ${form}`);
  });
}
