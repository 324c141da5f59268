import type { Page } from 'playwright-core';
import { loadAxe } from './stage.ts';

/**
 * The elements that lie over other controls by intention: a dialog, the bar with the act of a long plan, and an offer
 * to undo.
 */
const OVERLAYS = 'dialog, .act-bar, .thrown';
/** The pixels of a text that are left of it at least; the directories of a path may be cut to less, before its name. */
const LEAST_WIDTH = 24;
const NEW_LOOK = 'data-new-look';

/**
 * Tells, of a view as it stands, at a width in pixels: the texts that are cut without an ellipsis and a title, the
 * controls that lie over each other or beyond the edge of the screen, and whether it scrolls sideways.
 */
export async function layoutFaultsOn(page: Page, width: number): Promise<readonly string[]> {
  await page.setViewportSize({ width, height: 860 });
  // A list has the rows of another size after the frame in which it was told of it.
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  return page.evaluate(faultsOfBoxes, [OVERLAYS, LEAST_WIDTH] as const);
}

/** Runs in the browser. */
function faultsOfBoxes([overlays, least]: readonly [overlays: string, least: number]): readonly string[] {
  const named = (each: Element): string => {
    const words = (each.textContent || each.getAttribute('aria-label') || '').replace(/\s+/g, ' ').trim();
    return `${each.tagName.toLowerCase()}.${each.className} "${words.slice(0, 60)}"`;
  };
  const modal = [...document.querySelectorAll('dialog')].find((each) => each.matches(':modal'));
  const isSeen = (each: Element): boolean =>
    (modal === undefined || modal.contains(each)) && each.checkVisibility({ visibilityProperty: true });
  const all = [...document.querySelectorAll('body *')].filter(isSeen);

  const whole = (text: string | null): string => (text ?? '').replace(/\s+/g, ' ').trim();
  const tells = (each: Element): boolean => {
    for (let at: Element | null = each; at !== null; at = at.parentElement) {
      const told = [at.getAttribute('title'), at.getAttribute('aria-label')];
      if (told.some((one) => one !== null && whole(one).includes(whole(each.textContent)))) return true;
    }
    return false;
  };
  const cut = all.flatMap((each) => {
    const { display, overflowX, textOverflow } = getComputedStyle(each);
    const isCut = display !== 'inline' && /hidden|clip/.test(overflowX);
    if (!isCut || each.scrollWidth <= each.clientWidth || whole(each.textContent) === '') return [];
    if (textOverflow !== 'ellipsis') return `is cut without an ellipsis: ${named(each)}`;
    if (each.clientWidth < least && !each.matches('.crumb *'))
      return `is cut to nearly nothing: ${named(each)}`;
    return tells(each) ? [] : `is cut, and no title tells all of it: ${named(each)}`;
  });

  /** The part of a box that nothing around it cuts off; what is scrolled to is cut off too. */
  const seenPart = (each: Element): DOMRect => {
    let { left, top, right, bottom } = each.getBoundingClientRect();
    for (let at = each.parentElement; at !== null; at = at.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(at);
      const box = at.getBoundingClientRect();
      if (overflowX !== 'visible') [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      if (overflowY !== 'visible') [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    return new DOMRect(left, top, Math.max(0, right - left), Math.max(0, bottom - top));
  };
  const controls = all
    .filter((each) =>
      each.matches('button, a[href], input, select, textarea, [role="treeitem"], [role="option"]'),
    )
    .map((each) => ({ each, box: seenPart(each), over: each.closest(overlays) }))
    .filter(({ box }) => box.width > 1 && box.height > 1);
  const overlaps = controls.flatMap((one, at) =>
    controls.slice(at + 1).flatMap((other) => {
      if (one.over !== other.over || one.each.contains(other.each) || other.each.contains(one.each))
        return [];
      const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
      return across > 1 && down > 1 ? `lies over ${named(other.each)}: ${named(one.each)}` : [];
    }),
  );
  const beyond = controls
    .filter(({ box }) => box.left < -1 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1)
    .map(({ each }) => `lies beyond the edge: ${named(each)}`);
  const isWide = document.documentElement.scrollWidth > innerWidth;
  return [...new Set([...cut, ...overlaps, ...beyond, ...(isWide ? ['the page scrolls sideways'] : [])])];
}

/**
 * Tells where contrast is too low by axe's rule. Of texts with one colour and size on the same grounds the first one is
 * looked at, once for each page.
 */
export async function contrastFaultsOn(page: Page): Promise<readonly string[]> {
  const isNew = await page.evaluate((mark) => {
    const { looks = new Set<string>() } = globalThis as { looks?: Set<string> };
    Object.assign(globalThis, { looks });
    for (const each of document.querySelectorAll(`[${mark}]`)) each.removeAttribute(mark);
    const lookOf = (each: Element): string => {
      const { color, fontSize, fontWeight } = getComputedStyle(each);
      const parts = [color, fontSize, fontWeight];
      for (let at: Element | null = each; at !== null; at = at.parentElement) {
        const { backgroundColor, backgroundImage, opacity } = getComputedStyle(at);
        parts.push(backgroundColor, backgroundImage, opacity);
        if (/^rgb\(/.test(backgroundColor)) break;
      }
      return parts.join();
    };
    const shown = [...document.querySelectorAll('body *')].filter(
      (each) =>
        each.checkVisibility({ visibilityProperty: true }) &&
        (each.matches('input, textarea, select') ||
          [...each.childNodes].some((child) => child.nodeType === 3 && child.nodeValue?.trim() !== '')),
    );
    let isAny = false;
    for (const each of shown) {
      const look = lookOf(each);
      if (looks.has(look)) continue;
      looks.add(look);
      each.setAttribute(mark, '');
      isAny = true;
    }
    return isAny;
  }, NEW_LOOK);
  if (!isNew) return [];
  await loadAxe(page);
  return page.evaluate(async (mark) => {
    const loaded = globalThis as unknown as {
      axe: {
        run(of: string, options: object): Promise<{ violations: { nodes: { html: string }[] }[] }>;
      };
    };
    const options = { runOnly: ['color-contrast'], resultTypes: ['violations'] };
    const { violations } = await loaded.axe.run(`[${mark}]`, options);
    return violations.flatMap(({ nodes }) => nodes.map(({ html }) => `has too little contrast: ${html}`));
  }, NEW_LOOK);
}
