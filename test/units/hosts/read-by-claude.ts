import type { Reached } from '../../contracts/tool-host.ts';
import type { PlayedClaude } from '../../stage/scripted-claude.ts';

interface Result {
  readonly is_error?: boolean;
  readonly content: string | readonly Block[];
}

interface Block {
  readonly type: string;
  readonly source: { readonly media_type: string; readonly data: string };
}

/** The results of tools in the last message of each request but the first, as they went over the wire. */
export function readByClaude(
  { sent }: PlayedClaude,
  { marksErrors }: { readonly marksErrors: boolean },
): readonly (readonly Reached[])[] {
  return sent.slice(1).map(({ body }) => {
    const { content: results } = body.messages.at(-1) as { readonly content: readonly Result[] };
    return results.map(({ content, is_error: isError = false }) => ({
      content: typeof content === 'string' ? content : content.map(readImage),
      ...(marksErrors && { isError }),
    }));
  });
}

function readImage({ type, source }: Block): { readonly mediaType: string; readonly data: string } {
  if (type !== 'image') throw new Error(`Claude was sent ${type} where only images come as blocks.`);
  return { mediaType: source.media_type, data: source.data };
}
