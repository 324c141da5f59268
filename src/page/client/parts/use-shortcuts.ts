import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { FileLook, Pane, View } from '../data/view-state.ts';

/** Moves the focus, at once where the element can be seen already, so that what is typed next goes there. */
function focusOn(selector: string): void {
  const focus = (): void => document.querySelector<HTMLElement>(selector)?.focus();
  focus();
  if (document.querySelector(`${selector}:focus`) === null) requestAnimationFrame(focus);
}

export function useShortcuts(act: {
  /** False: keys of one character do nothing, for those who speak to the page or hit keys by mistake. */
  readonly hasKeys: boolean;
  readonly setView: (view: View) => void;
  readonly setPane: (pane: Pane) => void;
  readonly setHelping: (helping: boolean) => void;
  readonly openPalette: () => void;
  readonly setLook: (look: FileLook) => void;
}): void {
  const latest = useRef(act);
  latest.current = act;
  const keys = useMemo<Readonly<Record<string, () => void>>>(() => {
    const focus = (pane: Pane): void => {
      latest.current.setPane(pane);
      latest.current.setView('memory');
      focusOn(`[data-focus="${pane}"]`);
    };
    return {
      '/': () => {
        latest.current.setPane('tree');
        focusOn('.filter input');
      },
      '1': () => focus('tree'),
      '2': () => focus('file'),
      '3': () => focus('store'),
      v: () => {
        focus('file');
        latest.current.setLook('versions');
      },
      e: () => document.querySelector<HTMLElement>('[data-act="edit"]')?.click(),
      l: () => latest.current.setView('history'),
      h: () => latest.current.setView('health'),
      '?': () => latest.current.setHelping(true),
      Escape: () => {
        latest.current.setHelping(false);
        latest.current.setView('memory');
      },
    };
  }, []);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isForPalette = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
      if (isForPalette && event.key === 'k' && document.querySelector('dialog[open]') === null) {
        event.preventDefault();
        latest.current.openPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const isTyping =
        (event.target instanceof HTMLInputElement && event.target.type !== 'checkbox') ||
        event.target instanceof HTMLTextAreaElement ||
        event.target instanceof HTMLSelectElement ||
        document.querySelector('dialog[open]') !== null;
      const isOff = event.key.length === 1 && !latest.current.hasKeys;
      const act = isTyping || isOff ? undefined : keys[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [keys]);
}
