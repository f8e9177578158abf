/** The version of the service; a test holds it against package.json and the changelog. */
export const VERSION = '0.1.0'
