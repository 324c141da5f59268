/** The forms in which a text or a key could show itself in stored bytes, each with a name for a failing test. */
function formsOf(secret: string | Uint8Array): ReadonlyMap<string, Buffer> {
  const bytes = Buffer.from(secret as Uint8Array);
  const forms = new Map<string, Buffer>([
    ['bytes', bytes],
    ['hex', Buffer.from(bytes.toString('hex'))],
    ['HEX', Buffer.from(bytes.toString('hex').toUpperCase())],
    ['reversed', Buffer.from(bytes).reverse()],
  ]);
  if (typeof secret === 'string') {
    const utf16 = Buffer.from(secret, 'utf16le');
    forms.set('utf16le', utf16);
    forms.set('utf16be', Buffer.from(utf16).swap16());
    forms.set('percent-encoded', Buffer.from(encodeURIComponent(secret)));
    forms.set('JSON', Buffer.from(JSON.stringify(secret).slice(1, -1)));
  }
  for (const offset of [0, 1, 2]) {
    // Whole groups of three bytes only: the characters at the ends depend on the neighbours.
    const start = (3 - offset) % 3;
    const groups = bytes.subarray(start, start + Math.floor((bytes.length - start) / 3) * 3);
    forms.set(`base64 at ${offset}`, Buffer.from(groups.toString('base64')));
    forms.set(`base64url at ${offset}`, Buffer.from(groups.toString('base64url')));
  }
  return forms;
}

/**
 * Where any of the secrets shows in `haystack`, in whatever form: `<text> as <form>`. They have 8 bytes or more, or
 * they would show up by chance.
 */
export function findTraces(
  haystack: Uint8Array | string,
  secrets: readonly (string | Uint8Array)[],
): readonly string[] {
  const bytes = Buffer.from(haystack as Uint8Array);
  return secrets.flatMap((secret) => {
    if (Buffer.from(secret as Uint8Array).length < 8)
      throw new Error('a secret that short shows up by chance');
    return [...formsOf(secret)]
      .filter(([, form]) => bytes.includes(form))
      .map(([form]) => `${typeof secret === 'string' ? secret : 'a key'} as ${form}`);
  });
}
