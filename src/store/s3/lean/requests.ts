import { hash } from 'node:crypto';
import { XmlText } from '@aws-sdk/xml-builder';
import { extendedEncodeURIComponent } from '@smithy/core/protocols';
import type { ObjectKey } from '../../../format/object-keys.ts';
import type { DeleteTarget, ETag } from '../../port.ts';
import { type AskedPage, conditionOf, type PutCall } from '../wire.ts';
import { crc32Of } from './checksum.ts';

/** A request without what depends on the place of its bucket and on the time of its signature. */
export interface LeanRequest {
  /** S3's name of it. */
  readonly operation: string;
  readonly method: string;
  /** The path that follows the endpoint's own. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

export function getRequest(
  key: ObjectKey,
  { ifNoneMatch, checksums }: { readonly ifNoneMatch: ETag | undefined; readonly checksums: boolean },
): LeanRequest {
  const headers = {
    'x-amz-content-sha256': EMPTY_HASH,
    ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
    ...(checksums && { 'x-amz-checksum-mode': 'ENABLED' }),
  };
  return {
    operation: 'GetObject',
    method: 'GET',
    path: pathOf(key),
    query: { 'x-id': 'GetObject' },
    headers,
  };
}

export function headRequest(key: ObjectKey): LeanRequest {
  return {
    operation: 'HeadObject',
    method: 'HEAD',
    path: pathOf(key),
    query: {},
    headers: { 'x-amz-content-sha256': EMPTY_HASH },
  };
}

export function putRequest(
  key: ObjectKey,
  body: Uint8Array,
  { mode, checksums }: Pick<PutCall, 'mode'> & { readonly checksums: boolean },
): LeanRequest {
  const { IfNoneMatch, IfMatch } = conditionOf(mode);
  const headers = {
    'content-type': 'application/octet-stream',
    ...(IfNoneMatch !== undefined && { 'if-none-match': IfNoneMatch }),
    ...(IfMatch !== undefined && { 'if-match': IfMatch }),
    ...headersOfBody(body, checksums),
  };
  const query = { 'x-id': 'PutObject' };
  return { operation: 'PutObject', method: 'PUT', path: pathOf(key), query, headers, body };
}

export function deleteRequest({ key, ifMatch }: DeleteTarget): LeanRequest {
  const headers = {
    'x-amz-content-sha256': EMPTY_HASH,
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  };
  const query = { 'x-id': 'DeleteObject' };
  return { operation: 'DeleteObject', method: 'DELETE', path: pathOf(key), query, headers };
}

/** A batch of deletes has a checksum whatever the options say: S3 requires one. */
export function deleteAllRequest(targets: readonly DeleteTarget[]): LeanRequest {
  const objects = targets.map(
    ({ key, ifMatch }) => `<Object>${element('Key', key)}${element('ETag', ifMatch)}</Object>`,
  );
  const body = new TextEncoder().encode(
    `<?xml version="1.0" encoding="UTF-8"?><Delete xmlns="${NAMESPACE}">${objects.join('')}<Quiet>true</Quiet></Delete>`,
  );
  const headers = { 'content-type': 'application/xml', ...headersOfBody(body, true) };
  return { operation: 'DeleteObjects', method: 'POST', path: '/', query: { delete: '' }, headers, body };
}

export function listRequest({ prefix, startAfter, maxKeys, token }: AskedPage): LeanRequest {
  const query = {
    'list-type': '2',
    'encoding-type': 'url',
    'max-keys': String(maxKeys),
    prefix,
    ...(startAfter !== undefined && { 'start-after': startAfter }),
    ...(token !== undefined && { 'continuation-token': token }),
  };
  const headers = { 'x-amz-content-sha256': EMPTY_HASH };
  return { operation: 'ListObjectsV2', method: 'GET', path: '/', query, headers };
}

function pathOf(key: ObjectKey): string {
  return `/${key.split('/').map(extendedEncodeURIComponent).join('/')}`;
}

function headersOfBody(body: Uint8Array, checksums: boolean): Readonly<Record<string, string>> {
  return {
    'content-length': String(body.length),
    'x-amz-content-sha256': hash('sha256', body, 'hex'),
    ...(checksums && { 'x-amz-sdk-checksum-algorithm': 'CRC32', 'x-amz-checksum-crc32': crc32Of(body) }),
  };
}

function element(name: string, text: string | undefined): string {
  return text === undefined ? '' : `<${name}>${new XmlText(text).toString()}</${name}>`;
}
