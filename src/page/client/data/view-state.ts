import { useEffect, useState } from 'preact/hooks';

export type View = 'memory' | 'history' | 'health';

export const VIEWS: readonly View[] = ['memory', 'history', 'health'];
export const VIEW_NAMES: Readonly<Record<View, string>> = {
  memory: 'Memory',
  history: 'History',
  health: 'Health',
};

/** The panes, of which a narrow screen shows one. */
export type Pane = 'tree' | 'file' | 'store';

/**
 * The forms in which a file is shown: rendered, as text, as the model reads it, as its image or size, or as its
 * versions.
 */
export type FileLook = 'read' | 'text' | 'reply' | 'shown' | 'versions';

export const LOOK_WORDS: Readonly<Record<FileLook, string>> = {
  read: 'Read',
  text: 'Text',
  reply: 'As Claude reads it',
  shown: 'Now',
  versions: 'Versions',
};

/** The screens without room for panes side by side, as the style sheets have it. */
export const NARROW = '(max-width: 760px)';

/** Tells whether the screen is as a media query says, and tells it anew when that changes. */
export function useScreen(media: string): boolean {
  const [isSo, setSo] = useState(() => matchMedia(media).matches);
  useEffect(() => {
    const query = matchMedia(media);
    const adapt = (): void => setSo(query.matches);
    adapt();
    query.addEventListener('change', adapt);
    return () => query.removeEventListener('change', adapt);
  }, [media]);
  return isSo;
}
