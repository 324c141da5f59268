import type { Argument, Command, Option } from 'commander';
import type { Flags } from '../run/invocation.ts';
import { isListed, OPTIONS_TOPIC } from './help.ts';

/** The kind of word that stands at a place of a command line. */
type Kind = 'path' | 'strict path' | 'version' | 'side' | 'actor' | 'file' | 'word';

/** The place that is being typed, and what was typed before it. */
export interface Slot {
  readonly kind: Kind;
  /** The part of the value that stands there so far. */
  readonly current: string;
  /** The beginning of the word, before its value, such as `--below=`. */
  readonly before: string;
  /** A file of the user's may stand there as well. */
  readonly orFile?: boolean;
  /** The choice, where it does not depend on the store. */
  readonly words: readonly (readonly [word: string, told: string])[];
  /** The arguments before it. */
  readonly given: readonly string[];
  /** The flags of every command that were typed. */
  readonly flags: Flags;
}

interface SlotPlace {
  readonly command: Command;
  readonly given: readonly string[];
  readonly flags: Readonly<Record<string, unknown>>;
  /** The options that were typed, in full. */
  readonly options: ReadonlySet<string | undefined>;
  /** The option whose value comes next. */
  readonly pending: Option | undefined;
  /** True after `--`, where no options follow. */
  readonly isPlain: boolean;
}

/** Finds the slot that is being typed; undefined where nothing is known of what may stand there. */
export function slotAt(program: Command, typed: readonly string[]): Slot | undefined {
  const current = typed.at(-1) ?? '';
  const before = typed.slice(0, -1);
  const isHelp = before[0] === 'help';
  const place = placeBehind(program, isHelp ? before.slice(1) : before);
  const { command, given, flags, pending } = place;
  const slot = { current, before: '', words: [], given, flags: flags as Flags };
  if (isHelp) {
    const topics = command === program ? [[OPTIONS_TOPIC, 'what every command takes'] as const] : [];
    return { ...slot, kind: 'word', words: [...namesBelow(command), ...topics] };
  }
  if (pending !== undefined) return ofOption(pending, slot);
  if (current.startsWith('-') && !place.isPlain) {
    const [, name = '', value] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
    const option = optionOf(command, name);
    if (value !== undefined)
      return option && ofOption(option, { ...slot, current: value, before: `${name}=` });
    return { ...slot, kind: 'word', words: optionsOf(command) };
  }
  const below = given.length === 0 ? namesBelow(command) : [];
  if (below.length > 0) return { ...slot, kind: 'word', words: below };
  const { registeredArguments } = command;
  const argument = registeredArguments[given.length] ?? registeredArguments.at(-1);
  const isOne = given.length < registeredArguments.length || argument?.variadic === true;
  return isOne && argument !== undefined ? ofArgument(argument, place, slot) : undefined;
}

function placeBehind(program: Command, words: readonly string[]): SlotPlace {
  let command = program;
  let pending: Option | undefined;
  let isPlain = false;
  const given: string[] = [];
  const flags: Record<string, unknown> = {};
  const options = new Set<string | undefined>();
  const note = (option: Option, value: unknown): void => {
    if (program.options.includes(option)) {
      const name = option.attributeName();
      flags[name] = name === 'mount' ? [...((flags[name] as string[]) ?? []), value] : value;
    }
  };
  for (const word of words) {
    if (pending !== undefined) {
      note(pending, word);
      pending = undefined;
      continue;
    }
    if (!isPlain && word === '--') isPlain = true;
    else if (!isPlain && /^-./.test(word)) {
      const [name = '', ...value] = word.split('=');
      const option = optionOf(command, name);
      if (option === undefined) continue;
      options.add(option.long);
      if (!option.required && !option.optional) note(option, true);
      else if (value.length > 0) note(option, value.join('='));
      else if (option.required) pending = option;
    } else {
      const below = given.length === 0 ? command.commands.find((each) => each.name() === word) : undefined;
      if (below === undefined) given.push(word);
      else command = below;
    }
  }
  return { command, given, flags, options, pending, isPlain };
}

function optionOf(command: Command | null, name: string): Option | undefined {
  if (command === null) return undefined;
  return (
    command.options.find((each) => each.long === name || each.short === name) ??
    optionOf(command.parent, name)
  );
}

function namesBelow(command: Command): Slot['words'] {
  const visible = command.createHelp().visibleCommands(command);
  return visible.filter((each) => isListed(each, command)).map((each) => [each.name(), each.description()]);
}

function optionsOf(command: Command): Slot['words'] {
  const shown = command.options.filter(({ hidden }) => !hidden);
  const own = shown.map((each) => [each.long ?? '', each.description] as const);
  return command.parent === null
    ? [...own, ['--help', 'explain a command']]
    : [...own, ...optionsOf(command.parent)];
}

function ofOption(option: Option, slot: Omit<Slot, 'kind'>): Slot | undefined {
  const [, what = ''] = /[<[]([^>\]]+)/.exec(option.flags) ?? [];
  if (what === 'path') return { ...slot, kind: 'path' };
  return /^(file|folder|backup)$/.test(what) ? { ...slot, kind: 'file' } : undefined;
}

function ofArgument(
  argument: Argument,
  { command, options }: SlotPlace,
  slot: Omit<Slot, 'kind'>,
): Slot | undefined {
  const name = argument.name();
  const isFirst = slot.given.length === 0;
  if (argument.argChoices !== undefined) {
    return { ...slot, kind: 'word', words: argument.argChoices.map((word) => [word, '']) };
  }
  if (command.parent?.name() === 'tool')
    return /^(path|old|new)$/.test(name) ? { ...slot, kind: 'strict path' } : undefined;
  switch (name) {
    case 'pattern':
      return options.has('--invisible') ? { ...slot, kind: 'path' } : undefined;
    case 'path':
    case 'from':
    case 'to':
      return { ...slot, kind: 'path' };
    case 'left':
    case 'right':
      return { ...slot, kind: isFirst ? 'path' : 'side', orFile: true };
    case 'version':
      return { ...slot, kind: 'version' };
    case 'actor':
      return { ...slot, kind: 'actor' };
    case 'folder':
      // The first argument of "export" may be a path of the memory; with a backup there is only the folder.
      return command.name() === 'export' && isFirst && !options.has('--from')
        ? { ...slot, kind: 'path', orFile: true }
        : { ...slot, kind: 'file' };
    case 'file':
    case 'export':
      return { ...slot, kind: 'file' };
    default:
      return undefined;
  }
}
