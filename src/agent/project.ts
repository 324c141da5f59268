import { hasCode, hasReason, MemoryError } from '../errors.ts';
import type { FileContent } from '../tool/files.ts';
import type { Memory } from '../tool/memory-tool.ts';
import {
  checklistText,
  completedText,
  currentFeature,
  type Evidence,
  entryText,
  type Feature,
  type ProgressEntry,
  parseChecklist,
  progressText,
  startText,
} from './project-format.ts';

/** The memory and directory of a project, and a signal to cancel. */
export interface ProjectOptions {
  readonly memory: Pick<Memory, 'files'>;
  /** The project's directory, `/memories/project` by default; for several projects in one memory. */
  readonly directory?: string;
  readonly signal?: AbortSignal;
}

/** The first session's knowledge of a project before any work. */
export interface ProjectPlan {
  /** The purpose of the project. */
  readonly summary: string;
  /** Titles of the features, in the order of work. */
  readonly features: readonly string[];
  /** The command that starts the project as it was built until now, such as `./init.sh`. */
  readonly startScript: string;
}

export interface ProjectState {
  /** The progress log. */
  readonly progress: string;
  readonly features: readonly Feature[];
  /** The feature to work on; undefined when all are complete. */
  readonly current: Feature | undefined;
  readonly start: string;
  /** A text for the first message of a session: the paths of the files, their content, and the next feature. */
  readonly briefing: string;
}

const DIRECTORY = '/memories/project';
const ATTEMPTS = 8;

/**
 * Writes the progress log, the feature checklist and the reference to the start-up script. Files that exist already
 * stay as they are, so every session may call it, several at once too.
 *
 * @returns the paths of the files that were made by this call.
 * @throws MemoryError `invalid_command` for an empty text or a feature that comes twice; the errors of a command.
 */
export async function bootstrapProject(options: ProjectOptions & ProjectPlan): Promise<readonly string[]> {
  const { summary, features, startScript } = options;
  const texts = {
    progress: progressText(summary),
    checklist: checklistText(features),
    start: startText(startScript),
  };
  const files = filesOf(options);
  const made: string[] = [];
  for (const name of ['start', 'checklist', 'progress'] as const) {
    if (await files[name].createIfAbsent(texts[name])) made.push(pathOf(options, name));
  }
  return made;
}

/**
 * Reads the state of the project.
 *
 * @throws MemoryError `not_found` when it was not bootstrapped; the errors of a command.
 */
export async function readProject(options: ProjectOptions): Promise<ProjectState> {
  const files = filesOf(options);
  const [progress, checklist, start] = await Promise.all([
    existing(files.progress),
    existing(files.checklist),
    existing(files.start),
  ]);
  const features = parseChecklist(linesOf(checklist));
  const current = currentFeature(features);
  const state = { progress: progress.text(), features, current, start: start.text() };
  const next = current
    ? `Work on this feature and on no other: ${current.title}`
    : 'Every feature is complete; there is nothing to do unless the user adds one.';
  const parts = (['start', 'checklist', 'progress'] as const).map(
    (name) => `${pathOf(options, name)}:\n${{ start, checklist, progress }[name].text()}`,
  );
  return { ...state, briefing: ['Your memory says about this project:', ...parts, next].join('\n\n') };
}

/**
 * Appends the finished and the next steps to the progress log. Sessions that end at the same time all keep their
 * entries.
 *
 * @throws MemoryError `invalid_command` for an entry that says nothing; the errors of a command.
 */
export async function logProgress(
  options: ProjectOptions & ProgressEntry & { readonly now?: Date },
): Promise<void> {
  const entry = entryText(options, options.now ?? new Date());
  const { progress } = filesOf(options);
  await existing(progress);
  await progress.append(entry);
}

/**
 * Marks the current feature complete, with the evidence below it. To complete another one first, move it up in the
 * list.
 *
 * @returns the feature that is next; undefined when all are complete.
 * @throws MemoryError `policy_refused` when it is not the current feature or complete already; `not_found` when the
 * list has no such feature; `invalid_command` for evidence that is empty; what a command fails with.
 */
export async function completeFeature(
  options: ProjectOptions & { readonly feature: string; readonly evidence: Evidence },
): Promise<Feature | undefined> {
  const { checklist } = filesOf(options);
  for (let attempt = 1; ; attempt += 1) {
    const file = await existing(checklist);
    const features = parseChecklist(linesOf(file));
    const current = currentFeature(features);
    if (!features.some(({ title }) => title === options.feature)) {
      throw new MemoryError('not_found', 'the checklist of the project has no such feature');
    }
    if (current?.title !== options.feature) {
      throw new MemoryError('policy_refused', 'only the first feature that is not complete can be completed');
    }
    try {
      await checklist.replace(file, completedText(linesOf(file), current, options.evidence));
      return currentFeature(features.filter((feature) => feature !== current));
    } catch (error) {
      // Another process changed the list after this one had read it.
      if (!hasCode(error, 'version_conflict') || attempt === ATTEMPTS) throw error;
    }
  }
}

type FileName = 'progress' | 'checklist' | 'start';

/** A text file of the project. Every method throws the command's `MemoryError`. */
interface ProjectFile {
  /** Reads the file; undefined when it is missing. */
  read(): Promise<FileContent | undefined>;
  /** Creates the file; false when it existed, and then leaves it alone. */
  createIfAbsent(text: string): Promise<boolean>;
  /**
   * Replaces the version that was read.
   *
   * @throws MemoryError `version_conflict` when the file has another one.
   */
  replace(read: FileContent, text: string): Promise<unknown>;
  append(text: string): Promise<void>;
}

function filesOf(options: ProjectOptions): Readonly<Record<FileName, ProjectFile>> {
  const open = (name: FileName): ProjectFile => projectFile(options, pathOf(options, name));
  return { progress: open('progress'), checklist: open('checklist'), start: open('start') };
}

function pathOf({ directory = DIRECTORY }: ProjectOptions, name: FileName): string {
  return `${directory}/${name === 'checklist' ? 'features' : name}.md`;
}

function projectFile({ memory, signal }: ProjectOptions, path: string): ProjectFile {
  const { files } = memory;
  return {
    read: () => files.read(path, { signal }),
    createIfAbsent: (text) =>
      files.write(path, text, { mode: 'create', signal }).then(
        () => true,
        (error: unknown) => {
          if (hasCode(error, 'already_exists') && !hasReason(error, 'below_file')) return false;
          throw error;
        },
      ),
    replace: (read, text) => files.write(path, text, { mode: { ifUnchanged: read.version }, signal }),
    append: async (text) => {
      await files.append(path, text, { signal });
    },
  };
}

async function existing(file: ProjectFile): Promise<FileContent> {
  const found = await file.read();
  if (found !== undefined) return found;
  throw new MemoryError('not_found', 'a file of the project is missing; bootstrap it first');
}

/** Splits the file's text into lines; a final line break leaves an empty one. */
function linesOf(file: FileContent): readonly string[] {
  return file.text().split('\n');
}
