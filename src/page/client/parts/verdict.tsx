/** Stands in place of the page in a browser that has no cookie for it. */
export function Locked() {
  return (
    <main class="verdict">
      <h1>This address was used already</h1>
      <p>
        It opens in one browser, once, so that nobody else on this machine reads along. Take the page that it
        opened, or make a new address:
      </p>
      <pre>npx sealed-memory open</pre>
    </main>
  );
}

/** Stands in place of the page where its program cannot be asked. */
export function Ended({ message }: { readonly message: string }) {
  return (
    <main class="verdict">
      <h1>The page has ended</h1>
      <p role="alert">{message}</p>
      <pre>npx sealed-memory open</pre>
    </main>
  );
}
