import type { MemoryCommand } from './command.ts';
import { insertAfterLine, replaceOnce } from './edit.ts';
import { editSnippet } from './view.ts';

type TextEdit = Extract<MemoryCommand, { readonly command: 'str_replace' | 'insert' }>;

/** A text after an edit; `snippet` shows the change of `str_replace`. */
interface EditedText {
  readonly text: string;
  readonly snippet?: string;
}

/**
 * Makes the edit that a command asks for.
 *
 * @throws MemoryError as `replaceOnce` and `insertAfterLine`.
 */
export function applyEdit(text: string, command: TextEdit): EditedText {
  if (command.command === 'insert') {
    return { text: insertAfterLine(text, command.insertLine, command.insertText) };
  }
  const replacement = replaceOnce(text, command.oldStr, command.newStr);
  return { text: replacement.text, snippet: editSnippet(replacement) };
}
