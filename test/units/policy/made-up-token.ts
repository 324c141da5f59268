/** A token that nobody was given, in the form of one of GitHub. */
export const TOKEN: string = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
