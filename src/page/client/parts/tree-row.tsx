import { visibleName } from '../../../language/invisible.ts';
import type { TreeRow } from '../data/tree-rows.ts';
import { NARROW, useScreen } from '../data/view-state.ts';
import { unseenWords } from './seen-text.tsx';
import { ageWords, counted, sizeWords, timeWords } from './words.ts';

/** Tells the height of a row in pixels: on a narrow screen it takes two lines. */
export function useRowHeight(): number {
  return useScreen(NARROW) ? 50 : 30;
}

export function idOf(path: string): string {
  return `row-${encodeURIComponent(path)}`;
}

/** A line of the tree. */
export function Row({
  row,
  height,
  writer,
  unseen,
  now,
  isActive,
  isSelected,
  isChanged,
  isUnsaved,
  onOpen,
  onToggle,
}: {
  readonly row: TreeRow;
  readonly height: number;
  readonly writer: string | undefined;
  /** The characters that cannot be seen in the file, as far as it was read. */
  readonly unseen: number;
  readonly now: number;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  readonly isChanged: boolean;
  /** True where a text is being written at the path, or below it where no row shows that. */
  readonly isUnsaved: boolean;
  readonly onOpen: () => void;
  readonly onToggle: () => void;
}) {
  const { name, level, file, files, size, modified, isOpen, position, siblings, path } = row;
  return (
    <div
      id={idOf(path)}
      class="row"
      role="treeitem"
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-selected={isSelected}
      aria-expanded={file ? undefined : isOpen}
      data-active={isActive}
      data-changed={isChanged}
      style={{ '--level': level - 1, height: `${height}px` }}
      title={titleOf(row)}
      onClick={onOpen}
    >
      {file ? (
        <span class="glyph" />
      ) : (
        <span
          class="glyph arrow"
          data-open={isOpen}
          onClick={(event) => {
            event.stopPropagation();
            onToggle();
          }}
        />
      )}
      <span class="name">{visibleName(name)}</span>
      {unseen > 0 && (
        <span class="unseen" role="img" aria-label={unseenWords(unseen)} title={unseenWords(unseen)}>
          {unseen.toLocaleString('en')}
        </span>
      )}
      {isUnsaved && <span class="unsaved" role="img" aria-label="Not saved yet" title="Not saved yet" />}
      {writer !== undefined && (
        <span class="writer" title={`Written by ${visibleName(writer)}`}>
          {visibleName(writer)}
        </span>
      )}
      <span class="size">{file ? sizeWords(size) : files.toLocaleString('en')}</span>
      <span class="age">{modified > 0 ? ageWords(modified, now) : ''}</span>
    </div>
  );
}

/** Tells the name, which may be cut off, and the facts of a row. */
function titleOf({ name, file, files, size, modified }: TreeRow): string {
  const facts = file ? `${counted(size, 'byte')}, written ${timeWords(modified)}` : counted(files, 'file');
  return `${visibleName(name)}: ${facts}`;
}
