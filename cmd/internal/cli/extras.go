package cli

import (
	"fmt"
	"io"

	urfave "github.com/urfave/cli/v2"
)

// Extras are the commands that every program has for its installation:
// completion and man page, both made from the commands themselves.
func Extras() []*urfave.Command {
	return []*urfave.Command{
		{
			Name:      "completion",
			Usage:     "print the completion script of a shell",
			ArgsUsage: "bash|zsh",
			Description: `Examples:
  source <(scrfs completion bash)`,
			Action: func(c *urfave.Context) error {
				script, ok := completions[c.Args().First()]
				if !ok || c.NArg() != 1 {
					return Usagef("completion is there for bash and zsh, got %q", c.Args().First())
				}
				_, err := fmt.Fprintf(c.App.Writer, script, c.App.Name)
				return err
			},
		},
		{
			Name:   "man",
			Usage:  "print the man page",
			Hidden: true,
			Action: func(c *urfave.Context) error {
				page, err := c.App.ToMan()
				if err != nil {
					return err
				}
				_, err = io.WriteString(c.App.Writer, page)
				return err
			},
		},
	}
}

// completions ask the program itself, with the words typed so far, what may
// come next.
var completions = map[string]string{
	"bash": `_%[1]s() {
	local word=${COMP_WORDS[COMP_CWORD]}
	local words=("${COMP_WORDS[@]:0:COMP_CWORD}")
	[[ $word == -* ]] && words+=("$word")
	mapfile -t COMPREPLY < <(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$word")
}
complete -o default -F _%[1]s %[1]s
`,
	"zsh": `#compdef %[1]s
_%[1]s() {
	local -a found
	found=("${(@f)$(${words[@]:0:#words[@]-1} --generate-bash-completion 2>/dev/null)}")
	compadd -- $found || _files
}
compdef _%[1]s %[1]s
`,
}
