export function saveFile(name: string, kind: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
