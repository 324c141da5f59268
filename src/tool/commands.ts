import { hasCode, MemoryError } from '../errors.ts';
import { toBase64 } from '../format/encoding.ts';
import { applyEdit } from '../language/apply-edit.ts';
import type { MemoryCommand } from '../language/command.ts';
import { type ImageMediaType, imageMediaType } from '../language/image.ts';
import { createDirectoryView } from '../language/listing.ts';
import { MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import type { Wording } from '../language/sentences.ts';
import { successSentence } from '../language/success-sentences.ts';
import { decodeText, encodeText } from '../language/text.ts';
import { viewFile } from '../language/view.ts';
import { letOthersRun } from '../time.ts';
import type { DirectoryListing } from '../tree/list-directory.ts';
import type { KeptCall } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';
import type { Claim } from './command-order.ts';
import { withMeant } from './meant-path.ts';
import { watchRedactions } from './redactions.ts';

/** An image, in the form that Claude's API takes in the result of a tool. */
export interface ImageBlock {
  type: 'image';
  source: { type: 'base64'; media_type: ImageMediaType; data: string };
}

/** The model's reading matter: a sentence, or a block for an image. */
export type MemoryContent = string | ImageBlock[];

interface CommandContext {
  readonly tree: Tree;
  readonly wording: Wording;
  /** The answer of `create` where a file exists. */
  readonly onExists: 'error' | 'overwrite';
  readonly options: KeptCall;
}

/** The most files that a listing shows; it says where it stopped. */
const MAX_LISTED_FILES = 100_000;
/**
 * The number of files that go into a view, in a few milliseconds, before everything else in the process has its turn.
 */
const FILES_BETWEEN_TURNS = 2_000;

type CommandOf<Name extends MemoryCommand['command']> = Extract<MemoryCommand, { command: Name }>;

/**
 * Carries one command out and answers the text or image for the model.
 *
 * @throws MemoryError for a command that fails.
 */
export function runCommand(context: CommandContext, command: MemoryCommand): Promise<MemoryContent> {
  const paths = claimsOf(command).map(({ path }) => path);
  // An edit takes its place in the queue of its path at the call itself, unless it may have been made before.
  const isAgain = context.options.once?.again !== undefined;
  return withMeant(context.tree, paths, context.options, (...meant) => {
    const own = at(meant, command);
    return isAgain ? carryOutAgain(context, own, meant[0] !== paths[0]) : carryOut(context, own);
  });
}

/** Puts the meant paths into the command. */
function at([first, second]: readonly [MemoryPath, MemoryPath], command: MemoryCommand): MemoryCommand {
  if (command.command !== 'rename') return { ...command, target: { ...command.target, path: first } };
  const [source, destination] = [
    { ...command.source, path: first },
    { ...command.destination, path: second },
  ];
  return { ...command, source, destination };
}

/** Carries out a command that may have been made before, unless it was. */
async function carryOutAgain(
  context: CommandContext,
  command: MemoryCommand,
  isElsewhere: boolean,
): Promise<MemoryContent> {
  // Only what a process that died leaves behind loads this module.
  const { answerMade } = await import('./answer-made.ts');
  return (await answerMade({ ...context, isElsewhere }, command)) ?? carryOut(context, command);
}

async function carryOut(context: CommandContext, command: MemoryCommand): Promise<MemoryContent> {
  switch (command.command) {
    case 'view':
      return view(context, command);
    case 'create':
      return create(context, command);
    case 'str_replace':
    case 'insert':
      return edit(context, command);
    case 'delete':
      return remove(context, command);
    case 'rename':
      return rename(context, command);
  }
}

/**
 * Names the paths for which a command takes its place in the order. One that may have been made before lets none
 * overtake it.
 */
export function claimsOf(command: MemoryCommand, { once }: Pick<KeptCall, 'once'> = {}): readonly Claim[] {
  switch (command.command) {
    case 'view':
      return [{ path: command.target.path, mode: 'read' }];
    case 'rename':
      return [
        { path: command.source.path, mode: 'write' },
        { path: command.destination.path, mode: 'write' },
      ];
    case 'str_replace':
    case 'insert':
      return [{ path: command.target.path, mode: once?.again ? 'write' : 'edit' }];
    case 'create':
    case 'delete':
      return [{ path: command.target.path, mode: 'write' }];
  }
}

async function view(context: CommandContext, command: CommandOf<'view'>): Promise<MemoryContent> {
  const { tree, options } = context;
  const { path } = command.target;
  const list = (): Promise<DirectoryListing> => tree.list(path, { ...options, maxFiles: MAX_LISTED_FILES });
  if (tree.isAlwaysDirectory(path)) return showDirectory(command, await list());
  if (tree.wasDirectory(path)) {
    const listing = await list();
    // An empty listing proves nothing: the directory may have gone, and a file may lie there by now.
    if (listing.files.length > 0) return showDirectory(command, listing);
  }
  const content = await tree.read(path, options);
  if (content !== undefined) return showFile(command, content);
  const listing = await list();
  if (listing.files.length > 0) return showDirectory(command, listing);
  throw new MemoryError('not_found', 'there is neither a file nor a directory of that path');
}

async function showDirectory(
  command: CommandOf<'view'>,
  { files, directories = [], truncated }: DirectoryListing,
): Promise<string> {
  const { viewRange, target } = command;
  const view = createDirectoryView(target.path);
  view.addDirectories(directories);
  for (let start = 0; start < files.length; start += FILES_BETWEEN_TURNS) {
    if (start > 0) await letOthersRun();
    view.add(files.slice(start, start + FILES_BETWEEN_TURNS));
  }
  return view.reply({ given: target.given, viewRange, truncatedAt: truncated ? files.length : undefined });
}

function showFile(command: CommandOf<'view'>, content: Uint8Array): MemoryContent {
  const { given, path } = command.target;
  const mediaType = imageMediaType(path, content);
  if (mediaType !== undefined) {
    const source = { type: 'base64' as const, media_type: mediaType, data: toBase64(content) };
    return [{ type: 'image', source }];
  }
  return viewFile({ given, text: textOf(content), viewRange: command.viewRange });
}

async function create(context: CommandContext, command: CommandOf<'create'>): Promise<string> {
  const { tree, onExists } = context;
  const { options, redacted } = watchingRedactions(context);
  const content = encodeText(command.fileText);
  const { path } = command.target;
  if (onExists === 'overwrite') await tree.overwrite(path, content, options);
  else await tree.create(path, content, options);
  return successSentence(command, { redacted: redacted() });
}

type EditCommand = CommandOf<'str_replace' | 'insert'>;

async function edit(context: CommandContext, command: EditCommand): Promise<string> {
  const { options, redacted } = watchingRedactions(context);
  const snippet = await editText({ ...context, options }, command);
  return successSentence(command, { ...(snippet !== undefined && { snippet }), redacted: redacted() });
}

/** Makes the options of the call, and tells the rules by which the policy had something replaced. */
function watchingRedactions({ options }: CommandContext): {
  readonly options: KeptCall;
  readonly redacted: () => readonly string[];
} {
  const watched = watchRedactions(options);
  return {
    options: watched.options,
    redacted: () => (watched.redacted()?.rules ?? []).map(({ rule }) => rule),
  };
}

/**
 * Edits a text. Throws `is_directory` in place of `not_found` where the wording tells the two apart, at the price of a
 * LIST.
 */
async function editText(
  { tree, wording, options }: CommandContext,
  command: EditCommand,
): Promise<string | undefined> {
  const { path } = command.target;
  try {
    return await tree.edit(
      path,
      (content) => {
        const { text, snippet } = applyEdit(textOf(content), command);
        return { content: encodeText(text), result: snippet };
      },
      options,
    );
  } catch (error) {
    if (wording !== 'sdk' || !hasCode(error, 'not_found')) throw error;
    const { files } = await tree.list(path, { ...options, maxFiles: 1 });
    if (files.length === 0 && !tree.isAlwaysDirectory(path)) throw error;
    throw new MemoryError('is_directory', 'a directory cannot be edited', { cause: error });
  }
}

async function remove(context: CommandContext, command: CommandOf<'delete'>): Promise<string> {
  if (command.target.path === MEMORY_ROOT) throw refusedRoot('delete_root');
  await context.tree.remove(command.target.path, context.options);
  return successSentence(command);
}

async function rename(context: CommandContext, command: CommandOf<'rename'>): Promise<string> {
  const { source, destination } = command;
  if (source.path === MEMORY_ROOT) throw refusedRoot('rename_root');
  await context.tree.rename({ from: source.path, to: destination.path }, context.options);
  return successSentence(command);
}

function refusedRoot(reason: 'delete_root' | 'rename_root'): MemoryError {
  return new MemoryError('invalid_command', 'the root can be neither deleted nor renamed', {
    details: { reason },
  });
}

function textOf(content: Uint8Array): string {
  const text = decodeText(content);
  if (text !== undefined) return text;
  throw new MemoryError('not_text', 'the file is not UTF-8 text', { details: { size: content.length } });
}
