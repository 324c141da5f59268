// A stub in the bundle for the agent toolset of the Anthropic SDK, which runs the tools of a managed agent: a worker runs none.

export {};
