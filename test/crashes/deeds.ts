/** One command of a writer, whose text no other writer writes. */
export interface Deed {
  readonly text: string;
  readonly command:
    | {
        readonly command: 'insert';
        readonly path: string;
        readonly insert_line: 0;
        readonly insert_text: string;
      }
    | { readonly command: 'create'; readonly path: string; readonly file_text: string }
    | { readonly command: 'rename'; readonly old_path: string; readonly new_path: string };
}

/** Files that all writers edit. */
export const SHARED: readonly string[] = [0, 1, 2].map((number) => `/memories/shared/${number}`);

/** Each deed of so many is an edit of a shared file. */
export const EDIT_EVERY = 4;

/** Edits, creates, renames of what was created, and now and then a rename of the directory that holds those. */
export function deedOf(name: string, number: number): Deed {
  const text = `${name}, deed ${number}`;
  const home = `/memories/${name}`;
  const round = Math.floor(number / EDIT_EVERY);
  switch (number % EDIT_EVERY) {
    case 1:
      return { text, command: { command: 'create', path: `${home}/new/${number}`, file_text: text } };
    case 2: {
      const file = number - 1;
      const [old_path, new_path] = [`${home}/new/${file}`, `${home}/kept/${file}`];
      return { text, command: { command: 'rename', old_path, new_path } };
    }
    case 3:
      if (round % 4 !== 3) break;
      return {
        text,
        command: { command: 'rename', old_path: `${home}/kept`, new_path: `${home}/old/${number}` },
      };
  }
  const path = SHARED[(round + number) % SHARED.length] ?? '';
  return { text, command: { command: 'insert', path, insert_line: 0, insert_text: text } };
}
