import { parseXML } from '@aws-sdk/xml-builder';
import { getValueFromTextNode } from '@smithy/core/client';
import { _parseRfc3339DateTimeWithOffset, _parseRfc7231DateTime } from '@smithy/core/serde';
import { readBody } from '../body.ts';
import type { AnsweredDeletes, AnsweredMeta, AnsweredPage, HttpAnswer } from '../wire.ts';
import { isDeleteResult } from '../writing.ts';

/** The most bytes of a listing or an error; a page of 1,000 of the longest keys takes a third of them. */
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** Keeps a byte order mark in the text as it came; S3 writes none. */
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });

/** An answer whose body is a document: the text, and the answer with the status that the text may have corrected. */
interface Document {
  readonly answer: HttpAnswer;
  readonly text: string;
}

/**
 * Reads an answer whose body is a document, or empty, by `read`. S3 sends some failures with the status of a success
 * and an error in the body: such an answer counts as a 503.
 *
 * @throws an error like the AWS SDK's where the answer is a failure, or is not an answer of S3.
 */
export async function readDocument<T>(
  answer: HttpAnswer,
  read: (document: { readonly headers: HttpAnswer['headers']; readonly text: string }) => T,
): Promise<T> {
  const document = isSuccess(answer) ? await collectSuccess(answer) : undefined;
  return judged(document?.answer ?? answer, async (judgedAnswer) => {
    const text = document?.text ?? (await textOf(judgedAnswer));
    if (judgedAnswer.statusCode >= 300) throw failureOf(judgedAnswer, parsed(text));
    return read({ headers: judgedAnswer.headers, text });
  });
}

/**
 * Reads an object's facts from the headers of an answer, and leaves its body unread. `verify` judges the body of a
 * failure.
 *
 * @throws as `readDocument`.
 */
export async function readObjectHeaders(
  answer: HttpAnswer,
  verify: (body: Uint8Array, headers: HttpAnswer['headers']) => Promise<void>,
): Promise<AnsweredMeta> {
  return judged(answer, async () => {
    if (answer.statusCode < 300) return readableMeta(answer);
    const body = await bytesOf(answer);
    await verify(body, answer.headers);
    throw failureOf(answer, parsed(DECODER.decode(body)));
  });
}

/** Closes the connection where the headers make no sense, because nobody reads the body after them. */
function readableMeta({ headers, body }: HttpAnswer): AnsweredMeta {
  try {
    return metaOf(headers);
  } catch (error) {
    body.destroy();
    throw error;
  }
}

export function metaOf(headers: HttpAnswer['headers']): AnsweredMeta {
  const length = headers['content-length'];
  return {
    etag: headers['etag'],
    size: length === undefined ? undefined : Number(length),
    lastModified: _parseRfc7231DateTime(headers['last-modified']),
  };
}

export function pageOf(text: string): AnsweredPage {
  const root = parsed(text);
  const truncated = textIn(root, 'IsTruncated');
  return {
    name: textIn(root, 'Name'),
    encodingType: textIn(root, 'EncodingType'),
    isTruncated: truncated === undefined ? undefined : truncated.toLowerCase() === 'true',
    nextToken: textIn(root, 'NextContinuationToken'),
    entries: nodesIn(root, 'Contents').map((entry) => {
      const size = textIn(entry, 'Size');
      return {
        key: textIn(entry, 'Key'),
        etag: textIn(entry, 'ETag'),
        size: size === undefined ? undefined : Number(size),
        lastModified: _parseRfc3339DateTimeWithOffset(textIn(entry, 'LastModified')),
      };
    }),
  };
}

export function deletesOf(text: string): AnsweredDeletes {
  const root = parsed(text);
  const failures = nodesIn(root, 'Error').map((entry) => ({
    key: textIn(entry, 'Key'),
    code: textIn(entry, 'Code'),
  }));
  return { isResult: isDeleteResult(text), failures };
}

/** The children of an element of XML by name: texts, elements, or several of them. */
type XmlNode = Readonly<Record<string, unknown>>;

function textIn(node: XmlNode, name: string): string | undefined {
  const value = node[name] ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw new Error('An element of the answer is not of the kind that S3 writes.');
}

function nodesIn(node: XmlNode, name: string): readonly XmlNode[] {
  const value = node[name] ?? [];
  return (Array.isArray(value) ? value : [value]).map(asNode);
}

function asNode(value: unknown): XmlNode {
  return typeof value === 'object' && value !== null ? (value as XmlNode) : {};
}

function parsed(text: string): XmlNode {
  if (text === '') return {};
  const [root] = Object.values(parseXML(text) as XmlNode);
  return asNode(getValueFromTextNode(root));
}

async function textOf(answer: HttpAnswer): Promise<string> {
  return DECODER.decode(await bytesOf(answer));
}

function bytesOf({ body }: HttpAnswer): Promise<Uint8Array> {
  return readBody(body, { maxBytes: MAX_DOCUMENT_BYTES });
}

function isSuccess({ statusCode }: HttpAnswer): boolean {
  return statusCode >= 200 && statusCode < 300;
}

async function collectSuccess(answer: HttpAnswer): Promise<Document> {
  const text = await textOf(answer);
  return { answer: text.endsWith('</Error>') ? { ...answer, statusCode: 503 } : answer, text };
}

/** Lets an error say which answer it is about, as errors of the AWS SDK do. */
async function judged<T>(answer: HttpAnswer, read: (answer: HttpAnswer) => Promise<T>): Promise<T> {
  try {
    return await read(answer);
  } catch (error) {
    if (typeof error === 'object' && error !== null) {
      Object.defineProperty(error, '$response', { value: answer });
      if (!('$metadata' in error)) Object.assign(error, { $metadata: metadataOf(answer) });
    }
    throw error;
  }
}

function metadataOf({ statusCode, headers }: HttpAnswer): object {
  return { httpStatusCode: statusCode, requestId: headers['x-amz-request-id'] };
}

function failureOf(answer: HttpAnswer, root: XmlNode): Error {
  const said = asNode(root['Error'] ?? root);
  const code = said['Code'] ?? (answer.statusCode === 404 ? 'NotFound' : 'Unknown');
  return Object.assign(new Error('The object store refused the request.'), {
    name: String(code),
    ServerTime: said['ServerTime'],
    $metadata: metadataOf(answer),
  });
}
