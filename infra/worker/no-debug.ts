// A stub in the bundle for debug, by which secretlint tells of its work: a function writes nothing but its log.

/** Makes a writer that writes nothing. */
// biome-ignore lint/style/noDefaultExport: as in `debug`
export default function debug(): () => void {
  return () => {};
}
