import type { Command } from 'commander';
import { nearestOf } from '../../open/options/known-names.ts';
import { fullName, OPTIONS_TOPIC } from './help.ts';

/** The words in which commander tells of a word that it does not know, with a word that is near if it finds one. */
const UNKNOWN = /^error: unknown (command|option) '(.*?)'(?:\s*\(Did you mean (?:one of )?(.*)\?\))?$/s;

/** Dashed words that may be a version: a cluster of short options is shorter, and a long option has no capitals. */
const DASHED_VERSION = /^-(?!-)[\w-]{3,21}$|^--(?=[\w-]*[A-Z_])[\w-]{2,20}$/;

const INVALID = /^error: command-argument value '(.*)' is invalid for argument '(.*?)'\. (.+)$/s;

/**
 * Says in one line why a command line is refused, as every other failure is told. It names an unknown word together
 * with the nearest known one.
 */
export function refusalSentence(text: string, program: Command): string {
  const told = text.trim().replace(INVALID, 'The $2 "$1" is refused. $3');
  const [, kind, word = '', near] = UNKNOWN.exec(told) ?? [];
  if (kind === undefined) return completed(told.replace(/^error: /, '').replaceAll('\n', ' '));
  const nearest = kind === 'option' ? near : (commandOf(word, program) ?? near ?? commandLike(word, program));
  const listed = mayBeVersion(word, program)
    ? `a version that begins with a dash is typed with a v before it, v${word}.`
    : whereListed(kind);
  const advice = nearest === undefined ? listed : `did you mean ${nearest}?`;
  return `There is no ${kind} "${word}": ${advice}`;
}

/** Tells whether a word that was read as options may be a version as `--json` writes it, where a command takes one. */
function mayBeVersion(word: string, program: Command): boolean {
  const command = program.commands.find((each) => each.name() === program.args[0]);
  const takesOne = command?.registeredArguments.some((each) => each.name() === 'version') === true;
  return takesOne && DASHED_VERSION.test(word);
}

/** Adds to the sentence about a missing or surplus argument where to look. */
function completed(sentence: string): string {
  const isOfCount = /^(missing required argument|too many arguments|option .* argument missing)/.test(
    sentence,
  );
  return isOfCount
    ? `${sentence.replace(/\.$/, '')}: --help after the command shows what it takes.`
    : sentence;
}

function whereListed(kind: string): string {
  return kind === 'command'
    ? '"sealed-memory --help" lists all.'
    : `"sealed-memory help" with the command lists its own, "sealed-memory help ${OPTIONS_TOPIC}" those of all.`;
}

/** Finds a command of any depth by its last word: `keys rotate` where `rotate` was typed. */
function commandOf(name: string | undefined, program: Command): string | undefined {
  const found = allBelow(program).find((command) => command.name() === name);
  return found && fullName(found).split(' ').slice(1).join(' ');
}

function commandLike(word: string, program: Command): string | undefined {
  return commandOf(nearestOf(word, new Set(allBelow(program).map((command) => command.name()))), program);
}

function allBelow(command: Command): readonly Command[] {
  return command.commands.flatMap((each) => [each, ...allBelow(each)]);
}
