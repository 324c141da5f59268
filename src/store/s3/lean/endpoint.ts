import { isIpAddress, isVirtualHostableS3Bucket, partition } from '@aws-sdk/core/client';
import { extendedEncodeURIComponent, parseUrl } from '@smithy/core/protocols';

/** The facts that decide where the requests for a bucket go. */
interface EndpointParameters {
  readonly bucket: string;
  readonly region: string;
  /** URL of a server that is named by the options, the environment or a profile. */
  readonly endpoint: string | undefined;
  readonly forcePathStyle: boolean;
  readonly useFips: boolean;
  readonly useDualstack: boolean;
}

export interface Endpoint {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  /** The `host` header. */
  readonly host: string;
  /** The path in front of that of a key, which begins with a slash. */
  readonly basePath: string;
  readonly signingRegion: string;
}

type Scheme = 'http' | 'https';

/** Buckets of other kinds need requests of their own: directory buckets, access points, outposts. */
const OF_ANOTHER_KIND = /[:/#?]|--x-s3$|--xa-s3$|--op-s3$/;

/** Tells whether a bucket is an ordinary one, as `resolveEndpoint` expects it. */
export function isOrdinaryBucket(bucket: string): boolean {
  return !OF_ANOTHER_KIND.test(bucket);
}

/** Finds where the AWS SDK would send the requests for an ordinary bucket. */
export function resolveEndpoint(parameters: EndpointParameters): Endpoint {
  const url = new URL(
    parameters.endpoint === undefined ? awsUrl(parameters) : customUrl(parameters, parameters.endpoint),
  );
  return {
    protocol: url.protocol,
    hostname: url.hostname,
    ...(url.port !== '' && { port: Number(url.port) }),
    host: url.host,
    basePath: url.pathname === '/' ? '' : url.pathname,
    signingRegion: signingRegion(parameters, url.protocol === 'http:' ? 'http' : 'https'),
  };
}

/**
 * `aws-global` is no region: what is sent there is signed for `us-east-1`. As in the rules of the SDK, a bucket with
 * dots that is part of the host is the exception.
 */
function signingRegion(parameters: EndpointParameters, scheme: Scheme): string {
  const { bucket, region } = parameters;
  const isAsNamed = bucket.includes('.') && !isPathStyle(parameters, scheme);
  return region === 'aws-global' && !isAsNamed ? 'us-east-1' : region;
}

function awsUrl(parameters: EndpointParameters): string {
  const { bucket, region, useFips, useDualstack } = parameters;
  const { dnsSuffix, name } = partition(region);
  if (useFips && name === 'aws-cn') throw endpointError('Partition does not support FIPS');
  const isGlobal = region === 'aws-global';
  const service = `s3${useFips ? '-fips' : ''}${useDualstack ? '.dualstack' : ''}`;
  const place = isGlobal ? (service === 's3' ? '' : '.us-east-1') : `.${region}`;
  const host = `${service}${place}.${dnsSuffix}`;
  return isPathStyle(parameters, 'https')
    ? `https://${host}/${extendedEncodeURIComponent(bucket)}`
    : `https://${bucket}.${host}`;
}

function customUrl(parameters: EndpointParameters, endpoint: string): string {
  const { bucket, useFips, useDualstack } = parameters;
  const { protocol, hostname, port, path } = parseUrl(endpoint);
  if (useDualstack) {
    throw endpointError('Cannot set dual-stack in combination with a custom endpoint.');
  }
  if (useFips) throw endpointError('A custom endpoint cannot be combined with FIPS');
  const scheme = protocol.slice(0, -1);
  if (scheme !== 'http' && scheme !== 'https') throw endpointError('Custom endpoint was not a valid URI');
  const authority = port === undefined ? hostname : `${hostname}:${port}`;
  // The SDK puts a bucket with dots in front of an IP address as well: that is no URL, and is refused here as there.
  const hasOwnHost = bucket.includes('.') || !isIpAddress(hostname);
  if (!isPathStyle(parameters, scheme) && hasOwnHost) return `${scheme}://${bucket}.${authority}${path}`;
  return `${scheme}://${authority}${path.replace(/\/?$/, '/')}${extendedEncodeURIComponent(bucket)}`;
}

/**
 * Tells whether the bucket stands in the path. Over TLS a bucket with dots has no name that a wildcard certificate
 * covers.
 */
function isPathStyle({ bucket, forcePathStyle }: EndpointParameters, scheme: Scheme): boolean {
  return (
    forcePathStyle || !isVirtualHostableS3Bucket(bucket, scheme === 'http') || /(\d+\.){3}\d/.test(bucket)
  );
}

function endpointError(message: string): Error {
  return Object.assign(new Error(message), { name: 'EndpointError' });
}
