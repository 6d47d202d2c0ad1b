package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// lockWait is how many seconds apt-get waits for another apt-get (a machine's automatic updates,
// for one) to finish.
const lockWait = 300

// program is something from outside that the services or the tests need.
type program struct {
	name     string   // as people and Debian call it
	packages []string // Debian's packages that bring it
	commands []string // any of these in PATH will do; the first one found is used
	folders  []string // looked in before PATH, best first; patterns
}

// known are the programs that Get can get.
var known = []program{
	{
		name: "postgresql", packages: []string{"postgresql"}, commands: []string{"initdb"},
		// Debian keeps the server's programs out of PATH; what stands in PATH may be a wrapper of
		// them.
		folders: []string{
			"/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
		},
	},
	{name: "redis-server", packages: []string{"redis-server"}, commands: []string{"redis-server"}},
	{
		// A headless page without a font shows no text.
		name: "chromium", packages: []string{"chromium", "fonts-liberation"},
		commands: []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"},
	},
	// The race detector needs a C compiler and its headers.
	{name: "gcc", packages: []string{"gcc", "libc6-dev"}, commands: []string{"gcc", "cc", "clang"}},
}

// Get makes sure that the named programs ("postgresql", "redis-server", "chromium", "gcc") are on
// the machine. Missing ones are installed through apt-get where that is possible: as root, or
// through sudo. Otherwise the error says in one sentence what to install.
func Get(names ...string) error {
	var missing, packages []string
	for _, name := range names {
		at := slices.IndexFunc(known, func(p program) bool { return p.name == name })
		if at < 0 {
			return fmt.Errorf("dbtest: no program is known as %q", name)
		}
		if known[at].find() == "" {
			missing = append(missing, name)
			packages = append(packages, known[at].packages...)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := install(packages); err != nil {
		return fmt.Errorf("dbtest: install %s first, on Debian with \"apt-get install %s\", which was not possible "+
			"from here: %w",
			strings.Join(missing, ", "), strings.Join(packages, " "), err)
	}
	return nil
}

// find returns the program's path, or "".
func (p program) find() string {
	for _, pattern := range p.folders {
		folders, _ := filepath.Glob(pattern)
		slices.SortFunc(folders, func(a, b string) int { return folderVersion(b) - folderVersion(a) })
		for _, folder := range folders {
			for _, name := range p.commands {
				if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
					return path
				}
			}
		}
	}
	for _, name := range p.commands {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// folderVersion reads the version from a folder such as /usr/lib/postgresql/15/bin, so that 15 is
// newer than 9.
func folderVersion(folder string) int {
	name := filepath.Base(filepath.Dir(folder))
	version, _ := strconv.Atoi(name[strings.LastIndexByte(name, '@')+1:])
	return version
}

// postgresPrograms returns the folder with initdb and postgres, getting them when they are missing.
func postgresPrograms() (string, error) {
	if err := Get("postgresql"); err != nil {
		return "", err
	}
	initdb, err := filepath.EvalSymlinks(known[0].find())
	if err != nil {
		return "", fmt.Errorf("dbtest: %w", err)
	}
	return filepath.Dir(initdb), nil
}

// redisProgram returns the path of redis-server, getting it when it is missing.
func redisProgram() (string, error) {
	if err := Get("redis-server"); err != nil {
		return "", err
	}
	return known[1].find(), nil
}

// install runs apt-get. Services that the packages start by themselves are nobody's business here:
// ours are private.
func install(packages []string) error {
	aptGet, err := exec.LookPath("apt-get")
	if err != nil {
		return err
	}
	prefix, err := asRoot()
	if err != nil {
		return err
	}
	root, err := checkout()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, ".local"), 0o755); err != nil {
		return err
	}
	// Several test programs may miss the same thing at once.
	return withLock(filepath.Join(root, ".local", "apt.lock"), syscall.LOCK_EX, func() error {
		fmt.Fprintln(os.Stderr, "Installing", strings.Join(packages, ", "), "through apt-get …")
		apt := func(arguments ...string) error {
			argv := slices.Concat(prefix, []string{
				"env", "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_MODE=l",
				aptGet, "-qq", "-o", fmt.Sprintf("DPkg::Lock::Timeout=%d", lockWait),
			}, arguments)
			cmd := exec.Command(argv[0], argv[1:]...)
			output, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("apt-get %s: %w\n%s", arguments[0], err, output)
			}
			return nil
		}
		installing := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
		if apt(installing...) == nil {
			return nil
		}
		// A fresh machine has no package lists yet, or old ones.
		if err := apt("update"); err != nil {
			return err
		}
		return apt(installing...)
	})
}

// asRoot returns what to put before a command to run it as root. Nobody is asked for a password in
// the middle of a test.
func asRoot() ([]string, error) {
	if os.Getuid() == 0 {
		return nil, nil
	}
	sudo, err := exec.LookPath("sudo")
	if err != nil {
		return nil, err
	}
	if err := exec.Command(sudo, "-n", "true").Run(); err != nil {
		return nil, fmt.Errorf("sudo wants a password: %w", err)
	}
	return []string{sudo, "-n"}, nil
}
