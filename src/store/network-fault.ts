/** Codes of `node:net`, `node:dns` and `node:tls` for a request that reached nobody. */
const UNREACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
]);
const BROKEN_OFF = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNABORTED']);
const UNTRUSTED = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(VERIFY|GET_ISSUER))/;

/** What became of a connection: nobody was reached, it broke, or the other side could not be trusted. */
export type NetworkFault = 'unreached' | 'broken_off' | 'untrusted';

/** The fault behind an error code of Node; undefined for codes that tell of something else. */
export function networkFaultOf(code: string): NetworkFault | undefined {
  if (UNREACHED.has(code)) return 'unreached';
  if (BROKEN_OFF.has(code)) return 'broken_off';
  return UNTRUSTED.test(code) ? 'untrusted' : undefined;
}
