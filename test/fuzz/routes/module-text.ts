/** A module with one tool, which gives its text back. */
export function moduleOf(name: string): string {
  return `
def write(text: str = "") -> str:
    """Gives the text back."""
    return text


TOOL_SPECS = [{"name": "${name}:write", "handler": write}]
`
}
